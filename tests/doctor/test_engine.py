"""The engine on runs that are short, empty, constant, broken, rewound or cut: a partial answer, never a failure."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlprobe.doctor.catalog import entries
from rlprobe.doctor.condense import BLOCK
from rlprobe.doctor.configuration import Configuration
from rlprobe.doctor.engine import ENOUGH_ROWS, Doctor, diagnose
from rlprobe.doctor.finding import Diagnosis
from rlprobe.recording.metrics import METRICS
from rlprobe.recording.run import Batch, MemoryFeed, Run, batch_from_columns
from tests.support.corpus import labels
from tests.support.runs import columns_run, course, real_run

PLAIN = [metric.name for metric in METRICS if not metric.family]


def _silent(diagnosis: Diagnosis) -> bool:
    return not [one for one in diagnosis.findings if one.severity != "info"]


def _accounted(diagnosis: Diagnosis) -> None:
    """Every signature was either checked or not, with a reason; what fired was checked."""
    skipped = [one.id for one in diagnosis.not_checked]
    assert sorted([*diagnosis.checked, *skipped]) == sorted(one.signature.id for one in entries())
    assert {one.id for one in diagnosis.findings} <= set(diagnosis.checked)
    assert all(one.how for one in diagnosis.not_checked)
    assert all(one.missing for one in diagnosis.not_checked if one.reason == "missing")


def _learning(rows: int, seed: int = 0) -> dict[str, np.ndarray]:
    return {
        "reward_mean": course(0.2, 0.8, rows, noise=0.03, seed=seed),
        "entropy_mean": course(1.0, 0.7, rows, noise=0.02, seed=seed + 1),
        "completion_tokens_mean": course(200, 210, rows, noise=5, seed=seed + 2),
    }


def _collapsed(rows: int = 120, at: int = 60) -> dict[str, np.ndarray]:
    """Entropy falls to next to nothing from `at` on, and the reward stays where it is."""
    fall = np.where(np.arange(rows) < at, 1.0, 0.01)
    return {
        "entropy_mean": fall * (1.0 + 0.02 * np.random.default_rng(0).normal(size=rows)),
        "reward_mean": course(0.4, 0.4, rows, noise=0.05),
    }


def test_no_rows_are_a_clear_partial_answer() -> None:
    diagnosis = diagnose(Run(MemoryFeed("nothing", [])))

    assert (diagnosis.verdict, diagnosis.steps, diagnosis.rows) == ("unknown", None, 0)
    assert diagnosis.findings == diagnosis.checked == diagnosis.reassurances == ()
    assert {one.reason for one in diagnosis.not_checked} <= {"missing", "too_short"}
    assert "0 rows" in diagnosis.sentence
    _accounted(diagnosis)


@pytest.mark.parametrize("rows", [1, 2, 5, ENOUGH_ROWS - 1])
def test_a_few_rows_of_every_metric_are_too_few_for_a_verdict(rows: int) -> None:
    diagnosis = diagnose(columns_run({**{name: np.full(rows, 0.5) for name in PLAIN}, **_learning(rows)}))

    assert diagnosis.verdict in ("unknown", "attention", "failing")
    assert (diagnosis.rows, diagnosis.steps) == (rows, (0, rows - 1))
    _accounted(diagnosis)


@pytest.mark.parametrize("rows", [1, 5])
def test_a_few_sound_rows_are_neither_healthy_nor_wrong(rows: int) -> None:
    diagnosis = diagnose(columns_run(_learning(rows)))

    assert diagnosis.verdict == "unknown"
    assert diagnosis.findings == ()
    assert "too_short" in {one.reason for one in diagnosis.not_checked}


def test_healthy_needs_enough_rows_and_a_signature_that_follows_a_course() -> None:
    assert diagnose(columns_run(_learning(60))).verdict == "healthy"
    assert diagnose(columns_run(_learning(ENOUGH_ROWS - 1))).verdict == "unknown"
    exact_only = columns_run({"reward_nonfinite_count": np.zeros(60)})
    assert diagnose(exact_only).verdict == "unknown"


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_run_of_values_that_are_no_numbers_is_told_as_such(value: float) -> None:
    rows = {
        name: (np.full(40, value), np.ones(40, dtype=bool)) for name in ("reward_mean", "loss", "grad_norm", "kl_mean")
    }
    run = Run(MemoryFeed("broken", [Batch(steps=np.arange(40), columns=rows)]))

    diagnosis = diagnose(run)

    assert diagnosis.verdict == "failing"
    assert {one.id for one in diagnosis.findings if one.root} <= {"NUMERIC_NAN", "REWARD_NOT_FINITE"}
    assert diagnosis.findings[0].onset_step <= 2
    _accounted(diagnosis)


def test_unknown_metrics_alone_leave_everything_unchecked() -> None:
    diagnosis = diagnose(columns_run({"their/own": course(0, 1, 60), "x": course(1, 0, 60)}))

    assert diagnosis.verdict == "unknown"
    assert _silent(diagnosis)
    _accounted(diagnosis)


@pytest.mark.parametrize("value", [0.0, 1.0, -3.5, 1e-300, 1e300, 2.0**53])
def test_constant_metrics_of_any_size_are_judged_without_failing(value: float) -> None:
    diagnosis = diagnose(columns_run({name: np.full(80, value) for name in PLAIN}))

    assert diagnosis.rows == 80
    _accounted(diagnosis)


def test_gaps_between_steps_change_no_finding_but_its_steps() -> None:
    dense = diagnose(columns_run(_collapsed()))
    sparse = diagnose(columns_run(_collapsed(), steps=(np.arange(120) * 10**12).tolist()))

    assert [one.id for one in dense.findings] == [one.id for one in sparse.findings] != []
    assert [one.onset_step * 10**12 for one in dense.findings] == [one.onset_step for one in sparse.findings]


def test_a_metric_that_comes_late_is_judged_from_then_on() -> None:
    late = _collapsed(rows=160, at=100)
    late["entropy_mean"] = np.where(np.arange(160) < 60, np.nan, late["entropy_mean"])

    found = next(one for one in diagnose(columns_run(late)).findings if one.id == "ENTROPY_COLLAPSE")

    assert 95 <= found.onset_step <= 105


def test_a_metric_that_stops_is_told_as_a_gap_and_as_nothing_else() -> None:
    stopping = _learning(160)
    stopping["entropy_mean"] = np.where(np.arange(160) < 80, stopping["entropy_mean"], np.nan)

    assert {one.id for one in diagnose(columns_run(stopping)).findings} <= {"METRIC_GAP"}


def test_what_a_rewind_took_back_is_withdrawn() -> None:
    """The first session collapsed from step 60 on; the second went back to step 50 and did not."""
    first = batch_from_columns(np.arange(120), _collapsed())
    again = {"entropy_mean": course(1.0, 0.95, 100, noise=0.02), "reward_mean": course(0.4, 0.8, 100, noise=0.05)}
    feed = MemoryFeed("rewound", [first])
    doctor = Doctor(Run(feed))

    before = doctor.update()
    feed.batches.append(batch_from_columns(np.arange(50, 150), again, segments=np.ones(100, dtype=np.int64)))
    after = doctor.update()

    assert "ENTROPY_COLLAPSE" in {one.id for one in before.findings}
    assert "ENTROPY_COLLAPSE" not in {one.id for one in after.findings}
    assert (after.rows, after.segments, after.steps) == (150, 2, (0, 149))


def test_rows_that_came_late_are_judged_as_if_they_had_been_there() -> None:
    """A feed that delivers rows anew, and the same rows at once."""
    whole = _collapsed()
    part = {"entropy_mean": whole["entropy_mean"]}
    feed = MemoryFeed("late", [batch_from_columns(np.arange(120), part)])
    doctor = Doctor(Run(feed))
    doctor.update()
    feed.batches.append(batch_from_columns(np.arange(120), whole, revision="all"))

    at_once = Run(MemoryFeed("late", [batch_from_columns(np.arange(120), whole)]))
    assert doctor.update() == diagnose(at_once)


def test_an_unfinished_row_is_not_judged() -> None:
    columns = _learning(40)
    run = Run(MemoryFeed("growing", [batch_from_columns(np.arange(40), columns, complete=False)]))

    assert diagnose(run).rows == 39
    assert diagnose(run).steps == (0, 38)


@pytest.mark.parametrize("until", [-1, 0, 30, 75, 500])
def test_until_a_step_is_the_run_cut_there(until: int) -> None:
    columns = _collapsed()
    cut = {name: values[: max(0, min(until + 1, 120))] for name, values in columns.items()}

    told = diagnose(columns_run(columns), until=until)

    assert replace(told, state="") == replace(diagnose(columns_run(cut)), state="")


@pytest.mark.slow
@pytest.mark.parametrize(("until", "rows"), [(None, 40_003), (35_000, 35_001), (100, 101)])
def test_rows_are_counted_as_the_log_has_them_where_they_are_judged_in_blocks(until: int | None, rows: int) -> None:
    run = columns_run({"reward_mean": course(0.2, 0.8, 40_003, noise=0.05)})

    diagnosis = diagnose(run, until=until)

    assert diagnosis.rows == rows
    assert diagnosis.steps is not None
    assert rows - BLOCK <= diagnosis.steps[1] + 1 <= rows


@pytest.mark.slow
@settings(deadline=None, max_examples=15)
@given(
    until=st.integers(0, 1000),
    chosen=st.sampled_from([one.id for one in labels() if one.path.stat().st_size < 30_000] or [""]),
)
def test_until_cuts_a_real_run_as_if_it_had_ended_there(until: int, chosen: str) -> None:
    run = real_run(chosen)
    step = int(run.steps[until % run.complete])
    rows = int(np.searchsorted(run.steps, step, side="right"))
    kept = {
        name: (run.column(name)[:rows], run.logged(name)[:rows])
        for name in run.metrics
        if run.logged(name)[:rows].any()
    }
    ended = Batch(
        steps=run.steps[:rows],
        columns=kept,
        segments=run.row_segments[:rows],
        manifest=run.manifest,
        reading=run.reading,
        events=tuple(event for event in run.events if event.step is None or event.step <= step),
        metadata={name: run.metadata(name) for name in kept},
    )

    told, cut = diagnose(run, until=step), diagnose(Run(MemoryFeed(run.source, [ended])))

    assert (told.verdict, told.findings, told.incidents) == (cut.verdict, cut.findings, cut.incidents)
    assert (told.checked, told.not_checked, told.reassurances) == (cut.checked, cut.not_checked, cut.reassurances)


values = st.one_of(st.just(np.nan), st.floats(-1e308, 1e308), st.just(np.inf), st.just(-np.inf), st.floats(0, 1))


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(data=st.data(), rows=st.integers(0, 70))
def test_no_numbers_make_the_doctor_fail(data: st.DataObject, rows: int) -> None:
    names = data.draw(st.lists(st.sampled_from([*PLAIN, "reward_component_mean/a", "evaluation_score/b"]), unique=True))
    few = data.draw(st.lists(values, min_size=1, max_size=12))
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    columns = {name: (rng.choice(few, rows), rng.random(rows) < 0.9) for name in names}
    run = Run(MemoryFeed("any", [Batch(steps=np.cumsum(rng.integers(1, 5, rows)), columns=columns)] if rows else []))

    diagnosis = diagnose(run)

    assert diagnosis.rows == rows
    _accounted(diagnosis)


def test_the_verdict_follows_what_is_active() -> None:
    id = "ENTROPY_COLLAPSE"
    only = {one.signature.id: replace(Configuration().choice(id), enabled=False) for one in entries()}
    verdicts = {}
    for severity in ("critical", "warning", "info"):
        only[id] = replace(Configuration().choice(id), enabled=True, severity=severity)
        verdicts[severity] = diagnose(columns_run(_collapsed()), configuration=Configuration(signatures=only)).verdict

    assert verdicts == {"critical": "failing", "warning": "attention", "info": "healthy"}


def test_the_sentence_names_the_first_active_finding() -> None:
    diagnosis = diagnose(columns_run(_collapsed()))

    assert diagnosis.sentence.startswith(f"{diagnosis.findings[0].title} since step {diagnosis.findings[0].onset_step}")


def test_asking_again_without_new_rows_says_the_same() -> None:
    doctor = Doctor(columns_run(_collapsed()))

    assert doctor.update() == doctor.update()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["verl-01", "coati-20", "unsloth-16"])
def test_the_same_log_gives_the_same_bytes_in_every_process(name: str, tmp_path: Path) -> None:
    label = next((one for one in labels() if one.id == name), None)
    if label is None:
        pytest.skip("the labelled real runs are not here")
    log = tmp_path / "log.jsonl"
    log.write_bytes(label.text())

    said = [
        subprocess.run(
            [sys.executable, "-c", f"from rlprobe.cli import main; main(['doctor', {str(log)!r}, '--json'])"],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "4242")
    ]

    assert len(said[0]) > 500
    assert said[0] == said[1] == said[2]
