"""Signatures of generation: what real runs show first, then the borders at which a look-alike must stay silent."""

import numpy as np
import pytest

from rlprobe.doctor.engine import diagnose
from rlprobe.doctor.finding import Finding
from rlprobe.recording.run import FloatArray, Run
from tests.support.runs import columns_run, course, real_run
from tests.support.spread import spread

ROWS = 80
STARVED = ("unsloth-07", "unsloth-08", "unsloth-10", "unsloth-15", "unsloth-17", "unsloth-23", "unsloth-29",
           "unsloth-34", "verl-07", "verl-b06", "oenv-01", "oenv-03")  # fmt: skip


def _found(run: Run, id: str) -> tuple[Finding, ...]:
    return tuple(one for one in diagnose(run).findings if one.id == id)


def _alarms(run: Run, id: str) -> tuple[Finding, ...]:
    return tuple(one for one in _found(run, id) if one.severity != "info")


def _flat(level: float, noise: float = 0.0, seed: int = 0) -> FloatArray:
    return course(level, level, ROWS, noise=noise, seed=seed)


@pytest.mark.parametrize("name", spread(STARVED, few=4))
def test_real_runs_that_starved_of_truncation_are_told(name: str) -> None:
    assert _alarms(real_run(name), "TRUNCATION_STARVE")


@pytest.mark.parametrize("name", ["unsloth-09", "unsloth-22", "unsloth-31", "oenv-02", "custom-01", "verl-09"])
def test_real_runs_that_came_down_from_truncation_end_without_alarm(name: str) -> None:
    assert not _alarms(real_run(name), "TRUNCATION_STARVE")
    assert not _alarms(real_run(name), "NO_EOS")


def test_truncation_that_falls_is_a_start_and_no_starvation() -> None:
    cut = np.clip(0.9 * np.exp(-np.arange(ROWS) / 15), 0, 1)
    run = columns_run({"truncated_fraction": cut, "reward_mean": _flat(0.2, 0.05)})
    assert not _found(run, "TRUNCATION_STARVE")


def test_truncation_with_a_rising_reward_is_excused_until_nothing_ends() -> None:
    reward = course(0.1, 0.8, ROWS, noise=0.03)
    half = columns_run({"truncated_fraction": _flat(0.6, 0.05), "reward_mean": reward})
    everything = columns_run({"truncated_fraction": _flat(1.0), "reward_mean": reward})
    assert not _alarms(half, "TRUNCATION_STARVE")
    assert _alarms(everything, "TRUNCATION_STARVE")


def test_lengths_below_the_cap_take_truncation_back_and_are_told_as_a_contradiction() -> None:
    run = columns_run(
        {
            "truncated_fraction": _flat(0.97),
            "completion_tokens_mean": _flat(200.0, 5.0),
            "completion_tokens_max": _flat(512.0, 20.0, 1),
            "reward_mean": _flat(0.2, 0.05, 2),
        }
    )
    assert not _found(run, "TRUNCATION_STARVE")
    assert not _found(run, "NO_EOS")
    assert [one.subject for one in _alarms(run, "METRIC_GAP")] == [
        "contradictory: completion_tokens_mean, truncated_fraction"
    ]


def test_a_length_that_meets_its_own_largest_value_again_and_again_is_a_cap() -> None:
    length = np.where(np.arange(ROWS) % 4 == 3, 180.0, 200.0)
    run = columns_run({"completion_tokens_mean": length, "reward_mean": _flat(0.2, 0.05)})
    assert _alarms(run, "TRUNCATION_STARVE")
    assert not _found(run, "NO_EOS")


def test_lengths_that_only_set_records_show_no_cap() -> None:
    run = columns_run({"completion_tokens_mean": course(100, 200, ROWS, noise=8), "reward_mean": _flat(0.2, 0.05)})
    assert not _found(run, "TRUNCATION_STARVE")


def test_short_answers_of_one_length_are_no_cap() -> None:
    run = columns_run({"completion_tokens_mean": _flat(7.0), "reward_mean": _flat(0.2, 0.05)})
    assert not _found(run, "TRUNCATION_STARVE")
    assert not _found(run, "NO_EOS")


@pytest.mark.parametrize("name", ["unsloth-08", "unsloth-10", "unsloth-15", "verl-b06"])
def test_real_runs_whose_completions_never_end_are_told(name: str) -> None:
    assert _alarms(real_run(name), "NO_EOS")


def test_completions_without_end_from_the_first_step_are_critical() -> None:
    (one,) = _found(columns_run({"truncated_fraction": _flat(1.0), "reward_mean": _flat(0.0, 0.01)}), "NO_EOS")
    assert (one.severity, one.onset_step) == ("critical", 0)


@pytest.mark.parametrize("name", ["verl-01", "verl-02"])
def test_real_collapses_of_length_are_critical(name: str) -> None:
    assert [one.severity for one in _alarms(real_run(name), "LENGTH_COLLAPSE")] == ["critical"]


@pytest.mark.parametrize("name", ["unsloth-09", "unsloth-22", "unsloth-24", "unsloth-25"])
def test_real_runs_that_found_the_short_solution_are_silent(name: str) -> None:
    assert not _found(real_run(name), "LENGTH_COLLAPSE")


def test_shortening_is_judged_by_the_reward() -> None:
    length = course(400.0, 60.0, ROWS, noise=8)
    rising = columns_run({"completion_tokens_mean": length, "reward_mean": course(0.1, 0.8, ROWS, noise=0.05)})
    falling = columns_run({"completion_tokens_mean": length, "reward_mean": course(0.8, 0.1, ROWS, noise=0.05)})
    assert not _found(rising, "LENGTH_COLLAPSE")
    assert _alarms(falling, "LENGTH_COLLAPSE")


def test_growth_is_judged_by_accuracy_before_the_reward_that_may_pay_for_it() -> None:
    length = course(100.0, 900.0, ROWS, noise=10)
    bought = {"completion_tokens_mean": length, "reward_mean": course(0.2, 2.0, ROWS, noise=0.05)}
    assert not _found(columns_run(bought), "LENGTH_EXPLOSION")
    assert _alarms(columns_run({**bought, "accuracy_fraction": _flat(0.3, 0.03)}), "LENGTH_EXPLOSION")


@pytest.mark.parametrize("name", ["verl-03", "verl-04", "verl-09", "verl-08", "verl-10"])
def test_real_runs_that_grew_with_gain_are_silent(name: str) -> None:
    assert not _found(real_run(name), "LENGTH_EXPLOSION")


def test_the_real_run_that_grew_without_gain_is_told() -> None:
    assert _alarms(real_run("verl-07"), "LENGTH_EXPLOSION")


@pytest.mark.parametrize("name", ["verl-01", "verl-02", "verl-06", "verl-07"])
def test_real_runs_that_lost_their_tools_are_told(name: str) -> None:
    assert _alarms(real_run(name), "TOOL_USE_COLLAPSE")


@pytest.mark.parametrize("name", ["verl-03", "verl-05", "verl-09", "verl-b01"])
def test_real_runs_that_kept_their_tools_or_never_had_any_are_silent(name: str) -> None:
    assert not _found(real_run(name), "TOOL_USE_COLLAPSE")


def test_doing_without_tools_is_no_collapse_when_the_reward_rises() -> None:
    calls = course(2.5, 0.0, ROWS, noise=0.05)
    answered = columns_run({"tool_calls_mean": calls, "reward_mean": course(0.1, 0.8, ROWS, noise=0.05)})
    assert not _found(answered, "TOOL_USE_COLLAPSE")


def test_an_outage_of_the_tools_is_told_while_they_are_still_called() -> None:
    failed = np.where(np.arange(ROWS) < 40, 0.2, 0.9)
    run = columns_run(
        {"tool_failure_fraction": failed, "tool_calls_mean": _flat(2.0, 0.1), "reward_mean": _flat(0.5, 0.05)}
    )
    assert [one.onset_step for one in _alarms(run, "TOOL_USE_COLLAPSE")] == [40]


def test_calls_that_are_lost_by_degrees_are_told_before_they_are_gone() -> None:
    calls, flat = course(2.0, 0.8, 200, noise=0.1), course(0.4, 0.4, 200, noise=0.05)
    learned = course(0.2, 0.8, 200, noise=0.05)
    assert _alarms(columns_run({"tool_calls_mean": calls, "reward_mean": flat}), "TOOL_USE_COLLAPSE")
    assert not _found(columns_run({"tool_calls_mean": calls, "reward_mean": learned}), "TOOL_USE_COLLAPSE")


def test_a_policy_that_gains_by_leaving_a_broken_tool_has_lost_it() -> None:
    calls = course(1.0, 0.02, 200, noise=0.02)
    reward = course(0.2, 0.8, 200, noise=0.05)
    broken = {"tool_failure_fraction": course(0.1, 1.4, 200, noise=0.02).clip(0, 1)}
    run = columns_run({"tool_calls_mean": calls, "reward_mean": reward} | broken)
    assert _alarms(run, "TOOL_USE_COLLAPSE")


def test_repetition_of_code_is_compared_with_its_own_start() -> None:
    steady = columns_run({"repetition_fraction": _flat(0.4, 0.02), "reward_mean": _flat(0.5, 0.05)})
    looping = columns_run({"repetition_fraction": course(0.05, 0.9, ROWS, noise=0.02), "reward_mean": _flat(0.5, 0.05)})
    assert not _found(steady, "REPETITION_SPIRAL")
    assert _alarms(looping, "REPETITION_SPIRAL")


def test_moderate_repetition_is_excused_by_a_rising_reward() -> None:
    repeated = course(0.05, 0.4, ROWS, noise=0.02)
    run = columns_run({"repetition_fraction": repeated, "reward_mean": course(0.1, 0.8, ROWS, noise=0.05)})
    assert not _found(run, "REPETITION_SPIRAL")


def test_foreign_letters_are_told_when_they_spread_and_not_when_the_task_has_them() -> None:
    spreading = columns_run({"foreign_script_fraction": course(0.0, 0.6, ROWS)})
    translating = columns_run({"foreign_script_fraction": _flat(0.9, 0.01)})
    assert _alarms(spreading, "GIBBERISH")
    assert not _found(translating, "GIBBERISH")


def test_blank_texts_are_told_after_three_rows_unless_nothing_was_generated() -> None:
    blank = columns_run({"empty_fraction": [1.0] * 4, "completion_tokens_mean": [200.0] * 4})
    silent = columns_run({"empty_fraction": [1.0] * 4, "completion_tokens_mean": [1.0] * 4})
    assert [one.detected_step for one in _alarms(blank, "EMPTY_COMPLETIONS")] == [2]
    assert not _found(silent, "EMPTY_COMPLETIONS")


def test_copies_are_a_fault_from_the_start_and_mastery_when_the_reward_rose() -> None:
    settings = {"group_size": 8}
    lengths = {"completion_tokens_mean": _flat(50.0, 2.0)}
    always = columns_run(
        {"duplicate_fraction": _flat(0.875), "reward_mean": _flat(0.5, 0.05), **lengths}, settings=settings
    )
    learned = {
        "duplicate_fraction": course(0.1, 0.86, ROWS),
        "reward_mean": course(0.1, 0.9, ROWS, noise=0.03),
        **lengths,
    }
    (one,) = _found(always, "DUPLICATE_COMPLETIONS")
    assert (one.severity, one.onset_step) == ("critical", 0)
    assert not _found(columns_run(learned, settings=settings), "DUPLICATE_COMPLETIONS")
