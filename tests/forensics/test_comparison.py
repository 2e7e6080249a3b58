from itertools import pairwise

import numpy as np
import pytest

from rlprobe.doctor.engine import diagnose
from rlprobe.forensics.alignment import Unalignable, beside, positions
from rlprobe.forensics.comparison import compare
from rlprobe.forensics.conclusion import conclusion, limits
from rlprobe.forensics.finding_differences import finding_differences
from rlprobe.forensics.fork import fork
from rlprobe.forensics.prompt_differences import prompt_differences
from rlprobe.forensics.settings_differences import UNKNOWN, settings_differences
from rlprobe.lab.recording import run_in_memory
from rlprobe.recording.run import Manifest, MemoryFeed, Run, batch_from_columns
from tests.reports.diagnoses import FAILING, HEALTHY
from tests.support.corpus import labels, opened
from tests.support.runs import columns_run
from tests.support.strategies import noise

ROWS = 240


def healthy(seed, rows=ROWS, pace=1.0, **more):
    """A run that learns, with four metrics."""
    time = np.arange(rows) * pace
    learned = 1 / (1 + np.exp(-(time - 100) / 25))
    columns = {
        "reward_mean": 0.1 + 0.7 * learned + 0.03 * noise(seed, rows, 0.5),
        "entropy_mean": 1.2 - 0.8 * learned + 0.04 * noise(seed + 1, rows, 0.5),
        "kl_mean": 0.02 + 0.2 * learned + 0.01 * noise(seed + 2, rows, 0.5),
        "completion_tokens_mean": 300 + 200 * learned + 12 * noise(seed + 3, rows, 0.5),
        "samples_count": np.full(rows, 64.0),
    }
    return columns_run({**columns, **more})


def broken(seed, row=150):
    """The same, with a reward that falls and an entropy that collapses from a row on."""
    run = healthy(seed)
    columns = {name: run.column(name).copy() for name in run.metrics}
    columns["reward_mean"][row:] -= 0.4
    columns["entropy_mean"][row + 10 :] = 0.02
    return columns_run(columns)


def test_healthy_seeds_do_not_part_and_the_page_says_what_one_seed_cannot_tell():
    found = compare([healthy(10)], [healthy(20)])

    assert (found.partings, found.starts, found.fork, found.speed) == ((), (), None, None)
    assert conclusion(found)[0].startswith("The courses do not part")
    assert "Compare several seeds" in limits(found)


def test_a_fault_is_told_with_the_metric_that_moves_first():
    found = compare([healthy(10)], [broken(20)])

    assert [each.metric for each in found.partings] == ["reward_mean", "entropy_mean"]
    assert abs(found.partings[0].parting.step - 150) <= 3
    assert conclusion(found)[0].startswith("The courses part: reward_mean moves first, at step 1")
    assert found.prompts.since == found.partings[0].parting.step


def test_runs_of_one_seed_fork_at_the_exact_row():
    ours, theirs = healthy(10), healthy(10)
    theirs.column("kl_mean")[90] += 1e-12
    theirs.column("reward_mean")[120] += 1e-12
    found = fork(ours, theirs)

    assert (found.rows, found.last_same, found.step, found.metrics) == (90, 89, 90, ("kl_mean",))
    assert fork(ours, healthy(10)).step is None
    assert fork(ours, healthy(11)) is None
    told = conclusion(compare([ours], [theirs]))
    assert told == ["The runs are the same, bit by bit, up to step 89; they fork at step 90, in kl_mean of 4 metrics."]


@pytest.mark.slow
def test_the_lab_forks_at_the_step_of_its_fault():
    found = compare([run_in_memory("healthy-grpo", 24, 3)], [run_in_memory("stop-string", 24, 3)])

    assert (found.fork.last_same, found.fork.step) == (12, 13)
    assert "format_fraction" in found.fork.metrics
    assert found.prompts.shared > 0


def test_a_slower_run_is_called_slower_and_not_parted():
    found = compare([healthy(10)], [healthy(20, pace=0.6)])

    assert found.speed.factor == pytest.approx(0.6, abs=0.06)
    assert conclusion(found)[0].startswith("B is slower: it needs 1.")
    aligned = compare([healthy(10)], [healthy(20, pace=0.6)], align="progress")
    assert aligned.partings == ()


def test_a_fault_is_no_matter_of_pace():
    assert compare([healthy(10)], [broken(20)]).speed is None


def test_rows_stand_side_by_side_by_step_tokens_or_the_nearest():
    every, tenth = healthy(1), columns_run({"reward_mean": np.arange(24.0)}, steps=list(range(3, 243, 10)))
    pair = beside("reward_mean", every, tenth, (positions(every, "step"), positions(tenth, "step")))
    assert pair.steps.tolist() == list(range(3, 243, 10))
    assert pair.theirs.tolist() == list(range(24))

    shifted = columns_run({"reward_mean": np.arange(24.0)}, steps=[step * 10 for step in range(24)])
    odd = beside("reward_mean", tenth, shifted, (positions(tenth, "step"), positions(shifted, "step")))
    assert len(odd) == 23
    assert np.all(np.abs(odd.ours - odd.theirs) <= 1)

    half = columns_run({"reward_mean": np.arange(100.0), "tokens_total": np.arange(100) * 50.0})
    whole = columns_run({"reward_mean": np.arange(200.0) / 2, "tokens_total": np.arange(200) * 25.0})
    by_tokens = beside("reward_mean", half, whole, (positions(half, "tokens"), positions(whole, "tokens")))
    assert by_tokens.ours.tolist() == by_tokens.theirs.tolist()
    with pytest.raises(Unalignable, match="expected tokens_total"):
        positions(tenth, "tokens")
    assert positions(every, "tokens")[-1] == pytest.approx(every.column("completion_tokens_mean").sum() * 64)


def test_sides_of_several_seeds_differ_only_by_more_than_their_runs_do():
    alike = compare([healthy(s) for s in (10, 20, 30)], [healthy(s) for s in (40, 50, 60)])
    assert (alike.sides, alike.partings) == ((), ())
    assert limits(alike) == ""

    lower = [healthy(s, reward_mean=healthy(s).column("reward_mean") - 0.15) for s in (40, 50, 60)]
    found = compare([healthy(s) for s in (10, 20, 30)], lower)
    assert [each.metric for each in found.sides] == ["reward_mean"]
    assert found.sides[0].ours - found.sides[0].theirs == pytest.approx(0.15, abs=0.03)
    assert found.sides[0].lasting


def test_one_faulty_run_among_several_does_not_speak_for_its_side():
    found = compare([healthy(s) for s in (10, 20, 30)], [healthy(40), healthy(50), broken(60)])
    assert found.partings == ()

    together = compare([healthy(s) for s in (10, 20, 30)], [broken(s) for s in (40, 50, 60)])
    assert together.partings[0].metric == "reward_mean"


def test_levels_that_differ_from_the_first_row_on_are_told():
    other = healthy(20, entropy_mean=healthy(20).column("entropy_mean") + 0.6)
    found = compare([healthy(10)], [other])

    assert [each.metric for each in found.starts] == ["entropy_mean"]
    assert found.partings == ()


def test_what_only_one_side_logs_as_nan_is_told():
    run = healthy(20)
    run.column("kl_mean")[77] = np.nan
    found = compare([healthy(10)], [run])

    assert [(each.metric, each.step, each.on_ours) for each in found.not_finite] == [("kl_mean", 77, False)]


def with_manifest(**manifest):
    return Run(MemoryFeed("memory", [batch_from_columns(np.arange(3), {}, manifest=Manifest(**manifest))]))


def test_settings_that_differ_come_in_order_and_the_same_are_counted():
    ours = with_manifest(
        algorithm="grpo",
        settings={"learning_rate": 1e-5, "group_size": 8, "seed": 0},
        configuration={"optim": {"name": "adam", "eps": 1e-8}, "output_dir": "a"},
        environment={"packages": {"torch": "2.1"}},
    )
    theirs = with_manifest(
        algorithm="grpo",
        settings={"learning_rate": 3e-5, "group_size": 8.0},
        configuration={"optim": {"name": "adam", "eps": 1e-6}, "output_dir": "b"},
    )
    found = settings_differences([ours, ours], [theirs])

    assert [(e.name, e.ours, e.theirs) for e in found.entries] == [
        ("learning_rate", (1e-5,), (3e-5,)),
        ("seed", (0,), (UNKNOWN,)),
        ("optim.eps", (1e-8,), (1e-6,)),
    ]
    assert found.same == 3


def with_samples(rewards):
    rows = [(prompt, reward) for prompt, many in rewards.items() for reward in many]
    columns = {
        "step": np.arange(len(rows)),
        "prompt": [prompt for prompt, _ in rows],
        "reward": np.array([reward for _, reward in rows], dtype=np.float64),
        "completion": [f"{prompt} {reward}" for prompt, reward in rows],
    }
    feed = MemoryFeed("memory", [batch_from_columns(np.arange(3), {})], sample_columns=columns, sample_rows=len(rows))
    return Run(feed)


def test_the_prompts_that_differ_most_come_first_with_a_completion_of_each_side():
    ours = with_samples({"a": [0.5, 0.6, 0.4], "b": [1.0, 0.9, 1.0], "c": [0.1], "d": [0.5] * 3})
    theirs = with_samples({"a": [0.5, 0.5, 0.6], "b": [0.0, 0.1, 0.0], "c": [0.9], "d": [0.5] * 3})
    found = prompt_differences([ours], [theirs])

    assert found.entries[0].key == "b"
    assert found.shared == 3
    assert found.entries[0].rewards == pytest.approx((2.9 / 3, 0.1 / 3))
    assert [row["completion"] for row in found.entries[0].samples] == ["b 1.0", "b 0.0"]
    assert prompt_differences([healthy(1)], [ours]).entries == ()


def test_findings_of_one_side_come_first():
    found = finding_differences([HEALTHY, HEALTHY], [FAILING, HEALTHY])

    assert all(each.on_one_side and not each.ours and each.runs == (2, 2) for each in found)
    assert [each.severity for each in found] == sorted(
        (e.severity for e in found), key=["critical", "warning", "info"].index
    )
    assert not any(each.on_one_side for each in finding_differences([FAILING], [FAILING]))


def test_runs_too_short_or_empty_are_compared_as_far_as_they_go():
    short = columns_run({"reward_mean": np.arange(5.0), "kl_mean": np.arange(5.0)})
    assert conclusion(compare([short], [healthy(10)]))[0].startswith("Too little to say: 5 rows")
    assert compare([columns_run({})], [healthy(10)]).rows == 0


@pytest.mark.slow
def test_real_runs_are_compared_without_a_word_of_numpy():
    chosen = labels()[::9]
    if not chosen:
        pytest.skip("the labelled real runs are not here")
    runs = [opened(label) for label in chosen]
    for ours, theirs in pairwise(runs):
        found = compare([ours], [theirs])
        assert conclusion(found)
    whole = compare([runs[0]], [runs[0]])
    assert whole.partings == ()
    finding_differences([diagnose(runs[0])], [diagnose(runs[1])])
