"""Signatures of infrastructure: time, memory, sample age, resumption and the log itself."""

import numpy as np
import pytest

from rlprobe.doctor.engine import diagnose
from rlprobe.doctor.finding import Finding
from rlprobe.recording.run import Batch, FloatArray, Manifest, MemoryFeed, Run, batch_from_columns
from tests.support.runs import columns_run, course, real_run

ROWS = 100


def _found(run: Run, id: str) -> tuple[Finding, ...]:
    return tuple(one for one in diagnose(run).findings if one.id == id)


def _flat(level: float, noise: float = 0.0, seed: int = 0) -> FloatArray:
    return course(level, level, ROWS, noise=noise, seed=seed)


def _resumed(columns: dict[str, FloatArray], at: int) -> Run:
    segments = (np.arange(ROWS) >= at).astype(np.int64)
    batch = batch_from_columns(np.arange(ROWS), columns, segments=segments, manifest=Manifest(algorithm="grpo"))
    return Run(MemoryFeed("memory", [batch]))


def test_slower_steps_are_rot_only_where_tokens_do_not_explain_them() -> None:
    seconds = course(10.0, 30.0, ROWS, noise=0.3)
    same = columns_run({"step_seconds": seconds, "completion_tokens_mean": _flat(300.0, 5.0)})
    longer = columns_run({"step_seconds": seconds, "completion_tokens_mean": 30 * seconds})
    assert [one.severity for one in _found(same, "THROUGHPUT_ROT")] == ["info"]
    assert not _found(longer, "THROUGHPUT_ROT")


def test_tokens_that_get_dearer_because_completions_shrink_are_no_rot() -> None:
    tokens = course(400.0, 40.0, ROWS)
    run = columns_run({"step_seconds": 5.0 + 0.02 * tokens, "completion_tokens_mean": tokens})
    assert not _found(run, "THROUGHPUT_ROT")


@pytest.mark.parametrize("name", ["verl-07", "verl-09", "verl-10", "verl-b03", "unsloth-09"])
def test_real_runs_whose_steps_follow_their_lengths_are_silent(name: str) -> None:
    assert not _found(real_run(name), "THROUGHPUT_ROT")


@pytest.mark.parametrize("metric", ["memory_bytes", "host_memory_bytes"])
def test_memory_that_grows_in_every_step_is_told(metric: str) -> None:
    assert _found(columns_run({metric: course(2e10, 6e10, ROWS, noise=1e8)}), "MEMORY_CREEP")


def test_memory_is_silent_while_length_explains_it() -> None:
    run = columns_run({"memory_bytes": course(2e10, 4e10, ROWS), "completion_tokens_mean": course(200.0, 600.0, ROWS)})
    assert not _found(run, "MEMORY_CREEP")


def test_memory_that_fills_a_cache_and_stays_is_silent() -> None:
    filling = 2e10 * (1.0 + 0.6 * (1 - np.exp(-np.arange(ROWS) / 8)))
    assert not _found(columns_run({"host_memory_bytes": filling}), "MEMORY_CREEP")


@pytest.mark.parametrize("name", ["verl-01", "verl-04", "verl-b12", "verl-b15"])
def test_memory_of_real_runs_is_silent(name: str) -> None:
    assert not _found(real_run(name), "MEMORY_CREEP")


def test_a_rank_that_lags_is_told_and_a_single_slow_row_is_not() -> None:
    median = _flat(10.0, 0.2)
    lagging = columns_run({"rank_step_seconds_max": 2.5 * median, "rank_step_seconds_median": median})
    once = columns_run(
        {"rank_step_seconds_max": np.where(np.arange(ROWS) % 20 == 0, 40.0, 11.0), "rank_step_seconds_median": median}
    )
    assert _found(lagging, "RANK_DIVERGENCE")
    assert not _found(once, "RANK_DIVERGENCE")


def test_age_needs_a_witness_until_it_is_extreme() -> None:
    assert not _found(columns_run({"staleness_mean": _flat(8.0)}), "STALENESS")
    fresh = columns_run({"staleness_mean": _flat(8.0), "effective_sample_fraction": _flat(0.97, 0.005)})
    gone = columns_run({"staleness_mean": _flat(8.0), "effective_sample_fraction": _flat(0.5, 0.02)})
    assert not _found(fresh, "STALENESS")
    assert _found(gone, "STALENESS")
    assert _found(columns_run({"staleness_max": _flat(50.0)}), "STALENESS")


def test_a_resume_that_lost_the_weights_is_told_at_the_boundary() -> None:
    reward = course(0.1, 0.9, ROWS, noise=0.02)
    lost = np.concatenate([reward[:60], reward[:40]])
    (one,) = _found(_resumed({"reward_mean": lost}, 60), "RESUME_DISCONTINUITY")
    assert (one.severity, one.onset_step, one.status) == ("warning", 60, "active")
    assert not _found(_resumed({"reward_mean": reward}, 60), "RESUME_DISCONTINUITY")


def test_the_same_jump_without_a_boundary_is_no_matter_of_resumption() -> None:
    reward = course(0.1, 0.9, ROWS, noise=0.02)
    run = columns_run({"reward_mean": np.concatenate([reward[:60], reward[:40]])})
    assert not _found(run, "RESUME_DISCONTINUITY")


def test_a_second_start_in_the_same_log_is_information_once_it_is_under_way() -> None:
    (one,) = _found(real_run("trl-12"), "RESUME_DISCONTINUITY")
    assert (one.severity, one.status) == ("info", "recovered")


@pytest.mark.parametrize(("format", "severity"), [("jsonl", "info"), ("recording", "warning")])
def test_a_second_start_is_no_failure_of_a_log_that_holds_one_run_behind_the_other(format: str, severity: str) -> None:
    manifest = Manifest(format=format)
    columns = {"reward_mean": (np.array([0.5, 0.4, 0.6]), np.ones(3, dtype=bool))}
    batch = Batch(steps=np.arange(3), columns=columns, segments=np.ones(3, dtype=np.int64), manifest=manifest)
    (one,) = _found(Run(MemoryFeed("memory", [batch])), "RESUME_DISCONTINUITY")
    assert (one.subject, one.severity) == ("restart", severity)


def test_a_metric_that_stops_is_told_from_its_last_row_on() -> None:
    entropy = _flat(1.0, 0.05)
    entropy[50:] = np.nan
    (one,) = _found(columns_run({"entropy_mean": entropy, "reward_mean": _flat(0.5, 0.05, 1)}), "METRIC_GAP")
    assert (one.subject, one.onset_step) == ("missing: entropy_mean", 50)
    assert [line.metric for line in one.evidence] == ["entropy_mean"]


def test_a_metric_of_every_tenth_row_is_not_missing_in_between() -> None:
    sparse = np.where(np.arange(ROWS) % 4 == 0, _flat(1.0, 0.05), np.nan)
    assert not _found(columns_run({"entropy_mean": sparse, "reward_mean": _flat(0.5, 0.05)}), "METRIC_GAP")


def test_a_metric_logged_as_nan_is_news_and_no_gap() -> None:
    loss = _flat(1.0, 0.05)
    loss[50:] = np.nan
    columns = {"loss": loss, "reward_mean": _flat(0.5, 0.05)}
    batch = batch_from_columns(np.arange(ROWS), columns)
    logged = {name: (values, np.ones(ROWS, dtype=bool)) for name, (values, _) in batch.columns.items()}
    run = Run(MemoryFeed("memory", [type(batch)(steps=batch.steps, columns=logged)]))
    assert not _found(run, "METRIC_GAP")


def test_a_frozen_metric_is_told_while_the_run_goes_on_and_not_when_all_stands_still() -> None:
    entropy = _flat(1.0, 0.05)
    entropy[50:] = 0.98765
    lively = columns_run({"entropy_mean": entropy, "reward_mean": _flat(0.5, 0.05, 1)})
    reward = _flat(0.5, 0.05, 1)
    reward[50:] = 0.0
    still = columns_run({"entropy_mean": entropy, "reward_mean": reward})
    assert [(one.subject, one.onset_step) for one in _found(lively, "METRIC_GAP")] == [("frozen: entropy_mean", 51)]
    assert not [one for one in _found(still, "METRIC_GAP") if one.status == "active"]


def test_rounded_values_that_repeat_are_not_frozen() -> None:
    kl = np.round(_flat(0.012, 0.0002), 3)
    assert not _found(columns_run({"kl_mean": kl, "reward_mean": _flat(0.5, 0.05)}), "METRIC_GAP")


def test_a_mean_above_its_maximum_is_a_contradiction() -> None:
    run = columns_run({"completion_tokens_mean": _flat(300.0, 3.0), "completion_tokens_max": _flat(200.0)})
    assert [one.subject for one in _found(run, "METRIC_GAP")] == [
        "contradictory: completion_tokens_mean, completion_tokens_max"
    ]


def test_reinforcement_learning_without_any_reward_is_told_and_preference_training_is_not() -> None:
    columns = {"kl_mean": course(0.0, 0.03, ROWS), "loss": _flat(0.5, 0.05)}
    assert [one.subject for one in _found(columns_run(columns), "METRIC_GAP")] == ["missing: reward_mean"]
    assert not _found(columns_run(columns, algorithm="dpo"), "METRIC_GAP")


@pytest.mark.parametrize(
    "name", ["verl-01", "verl-02", "unsloth-15", "unsloth-22", "coati-16", "dschat-01", "unsloth-37"]
)
def test_real_logs_that_tell_what_happened_have_no_gap(name: str) -> None:
    assert not _found(real_run(name), "METRIC_GAP")
