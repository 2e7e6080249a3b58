import json
import re
from dataclasses import replace

import numpy as np
import pytest

from rlprobe.recording.run import Batch, Event, MemoryFeed, Run, batch_from_columns
from rlprobe.reports import json as json_report
from rlprobe.reports import step
from rlprobe.reports.step_page import render_step, render_window
from tests.reports.diagnoses import FAILING
from tests.support.runs import columns_run

LONG = " ".join(f"w{index}" for index in range(300))
HOSTILE = "\x1b[31m[red]two\nlines\u202e"


def run() -> Run:
    """Four rows with a gap in the steps, an event, a foreign metric, and three samples of step 4."""
    batch = batch_from_columns(
        np.array([0, 2, 4, 6]),
        {
            "reward_mean": np.array([0.1, 0.2, np.nan, 0.4]),
            "entropy_mean": np.array([0.8, 0.7, 0.6, 0.5]),
            HOSTILE: np.array([1.0, 2.0, 3.0, 4.0]),
        },
        events=(Event(kind="checkpoint", step=4, fields={"path": HOSTILE}), Event(kind="train_begin", step=None)),
    )
    nan = batch.columns["entropy_mean"][0]
    nan[3] = np.nan  # logged as NaN: the mask was made before
    samples = {
        "step": np.array([4, 4, 4]),
        "sample": np.array([0, 1, 2]),
        "reward": np.array([1.0, 0.0, np.nan]),
        "reward/format": np.array([0.5, 0.5, 0.5]),
        "completion": [HOSTILE, LONG, None],
        "token_ids": [b"\0\1", b"", None],
    }
    return Run(MemoryFeed(source="memory", batches=[batch], sample_columns=samples, sample_rows=3))


def test_a_step_holds_what_was_logged_there_and_the_last_logged_value_before():
    facts = step.at(run(), 6)

    values = {value.metric: (value.value, value.previous) for value in facts.values}
    assert values["reward_mean"] == (0.4, 0.2)
    assert np.isnan(values["entropy_mean"][0])
    assert [value.stage for value in facts.values] == ["reward", "policy", "other"]


def test_a_metric_that_was_not_logged_at_a_step_is_not_shown_there():
    assert "reward_mean" not in {value.metric for value in step.at(run(), 4).values}


@pytest.mark.parametrize(("wanted", "told"), [(3, "Take 2 or 4."), (9, "Take 6."), (-5, "Take 0.")])
def test_a_step_without_a_row_names_its_neighbours(wanted, told):
    with pytest.raises(step.NoSuchStep, match=re.escape(told)):
        step.at(run(), wanted)


def test_an_empty_run_has_no_steps_to_offer():
    empty = Run(MemoryFeed(source="memory", batches=[Batch(steps=np.empty(0, dtype=np.int64))]))

    with pytest.raises(step.NoSuchStep, match="has no rows"):
        step.at(empty, 0)
    with pytest.raises(step.NoSuchStep, match="has no rows"):
        step.between(empty, 0, 9)


def test_a_window_holds_the_course_of_every_metric_logged_in_it():
    facts = step.between(run(), 1, 5)

    assert facts.rows == 2
    assert {course.metric: course.values for course in facts.courses}["entropy_mean"] == (0.7, 0.6)
    assert {course.metric: course.steps for course in facts.courses}["reward_mean"] == (2,)
    assert [event.kind for event in facts.events] == ["checkpoint"]


def test_what_lies_far_from_the_rows_before_is_marked_and_what_stands_still_is_gathered():
    course = [0.5, 0.52, 0.48, 0.51, 0.49, 0.5, 0.52, 0.9]
    opened = columns_run({"entropy_mean": course, "group_size_mean": [8.0] * 8, "tokens_total": list(range(8))})
    page = render_step(step.at(opened, 7), width=80, color=False)

    assert re.search(r"entropy_mean +0\.9 nats/token +before 0\.52 +29 sd above", page)
    assert "as before: group_size_mean 8" in page
    assert re.search(r"tokens_total +7 tokens +before 6\n", page)
    whole = render_step(step.at(opened, 7), width=80, color=False, verbose=True)
    assert re.search(r"group_size_mean +8\n", whole)


def test_a_window_is_held_against_as_many_rows_before_it():
    opened = columns_run({"entropy_mean": [0.8, 0.82, 0.78, 0.81, 0.79] + [0.1] * 5, "loss": [1.0] * 10})
    page = render_window(step.between(opened, 5, 9), width=80, color=False)

    assert re.search(r"entropy_mean +0.8 → 0.1 nats/token +49 sd below", page)
    assert "as before: loss 1" in page
    course = next(c for c in step.between(opened, 5, 9).courses if c.metric == "entropy_mean")
    assert (course.earlier.mean, course.earlier.rows) == (pytest.approx(0.8), 5)
    assert step.between(opened, 0, 4).courses[0].earlier is None


def test_a_window_says_of_each_metric_what_the_registry_makes_of_rows():
    columns = {
        "reward_max": [1.0, 2.0, 1.0, 1.0, 5.0, 1.0],
        "reward_min": [0.3, 0.1, 0.3, 0.3, 0.2, 0.3],
        "learning_rate": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6],
        "rank_slowest": [7.0, 7.0, 0.0, 3.0, 3.0, 0.0],
        "step_seconds": [1.0, 2.0, 3.0, 4.0, 5.0, 9.0],
    }
    page = render_window(step.between(columns_run(columns), 3, 5), width=100, color=False)

    shown = dict(re.findall(r"^  (\w+) +(.+?)  ", page, re.MULTILINE))
    assert shown == {
        "reward_max": "2 → 5",
        "reward_min": "0.1 → 0.2",
        "learning_rate": "0.3 → 0.6",
        "rank_slowest": "7 → 3",
        "step_seconds": "2 s → 6 s",
    }


def test_a_spike_in_a_maximum_is_seen_in_a_thinned_course_and_so_is_an_infinity():
    course = [1.0] * 960
    course[100], course[500] = 9.0, np.inf
    page = render_window(step.between(columns_run({"kl_max": course}), 0, 959), width=100, color=False)

    assert "▁▁█▁▁▁▁▁▁▁▁▁×▁▁▁▁▁▁▁▁▁▁▁" in page


def test_a_value_that_leaves_a_constant_is_marked_and_too_few_rows_say_nothing():
    usual = step.Usual(mean=1.0, deviation=0.0, rows=9, level=1.0)
    assert (usual.away(1.0), usual.away(2.0)) == (0.0, np.inf)
    assert step.Usual(mean=1.0, deviation=0.5, rows=4, level=1.0).away(9.0) is None


def test_findings_are_shown_where_they_were_active():
    diagnosis = FAILING
    first = diagnosis.findings[0]
    assert first in step.active(diagnosis, first.onset_step, first.onset_step)
    assert first not in step.active(diagnosis, 0, first.onset_step - 1)
    recovered = replace(first, status="recovered", recovered_step=first.onset_step + 5)
    changed = replace(diagnosis, findings=(recovered,))
    assert step.active(changed, first.onset_step + 6, first.onset_step + 9) == []
    page = render_step(step.at(run(), 4), [first], width=80, color=False)
    assert first.id in page


def test_a_step_that_training_went_back_over_says_so():
    rows = [batch_from_columns(np.arange(start, 6), {"loss": np.full(6 - start, 0.1)}) for start in (0, 3)]
    facts = step.at(Run(MemoryFeed(source="memory", batches=rows)), 4)

    assert facts.replaced == 1
    assert "went back over this step 1 time" in render_step(facts, width=100, color=False)


def test_a_step_as_json_has_its_samples_without_raw_bytes():
    document = json.loads(json_report.document(step.document(step.at(run(), 4))))

    assert [sample["sample"] for sample in document["samples"]] == [0, 1, 2]
    assert document["samples"][2] == {"step": 4, "sample": 2, "reward": "nan", "reward/format": 0.5}
    assert "token_ids" not in document["samples"][0]
    assert document["events"][0]["kind"] == "checkpoint"


@pytest.mark.parametrize("verbose", [False, True])
def test_no_page_of_a_step_lets_foreign_text_steer_the_terminal(verbose):
    opened = run()
    page = render_step(step.at(opened, 4), width=80, color=False, verbose=verbose)
    page += render_window(step.between(opened, 0, 6), width=80, color=False)

    assert re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", page) is None
    assert "[red]two" in page


def test_a_long_text_is_cut_in_its_middle_until_all_is_asked_for():
    facts = step.at(run(), 4)

    assert "characters left out" in " ".join(render_step(facts, width=80, color=False).split())
    assert LONG in render_step(facts, width=4000, color=False, verbose=True)
