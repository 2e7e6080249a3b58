"""Signatures of the advantages: real runs first, then the borders at which a look-alike must stay silent."""

import numpy as np
import pytest

from rlprobe.doctor.engine import diagnose
from rlprobe.doctor.finding import Finding
from rlprobe.recording.run import Run
from tests.support.runs import columns_run, course, real_run
from tests.support.strategies import noise

ROWS = 80


def _found(run: Run, id: str) -> tuple[Finding, ...]:
    return tuple(one for one in diagnose(run).findings if one.id == id)


def _alarms(run: Run, id: str) -> tuple[Finding, ...]:
    return tuple(one for one in _found(run, id) if one.severity != "info" and one.status == "active")


@pytest.mark.parametrize(
    ("name", "id", "severity"),
    [
        ("unsloth-34", "DEGENERATE_GROUPS", "warning"),
        ("unsloth-36", "DEGENERATE_GROUPS", "warning"),
        ("verl-b06", "DEGENERATE_GROUPS", "critical"),
        ("verl-12", "GROUPING_BUG", "warning"),
        ("coati-12", "ADV_COLLAPSE", "critical"),
    ],
)
def test_a_failing_public_run_is_named(name: str, id: str, severity: str) -> None:
    assert [one.severity for one in _alarms(real_run(name), id)] == [severity]


@pytest.mark.parametrize("name", ["unsloth-22", "custom-01", "verl-13", "verl-b10", "tinker-05"])
def test_a_healthy_public_run_raises_nothing_about_its_advantages(name: str) -> None:
    found = [one for one in diagnose(real_run(name)).findings if one.stage == "advantages"]

    assert [one.id for one in found if one.severity != "info"] == []


def test_silent_groups_are_told_as_all_right_or_all_wrong() -> None:
    silent = np.full(ROWS, 0.9)
    rising, flat = course(0.3, 0.95, ROWS, noise=0.01), course(0.05, 0.05, ROWS, noise=0.01)
    right = {"zero_variance_group_fraction": silent, "all_right_group_fraction": silent, "reward_mean": rising}
    wrong = {"zero_variance_group_fraction": silent, "all_wrong_group_fraction": silent, "reward_mean": flat}

    told = {one.subject: one.severity for one in _found(columns_run(right), "DEGENERATE_GROUPS")}
    assert told == {"all right": "info"}
    told = {one.subject: one.severity for one in _found(columns_run(wrong), "DEGENERATE_GROUPS")}
    assert told == {"all wrong": "warning"}


def test_rewards_at_their_most_from_the_start_explain_silent_groups() -> None:
    silent = {"zero_variance_group_fraction": np.full(ROWS, 0.9)}
    top, low = np.minimum(1.0, course(0.97, 0.97, ROWS, noise=0.02)), course(0.1, 0.1, ROWS, noise=0.02)
    parts = {"reward_component_mean/right": top, "reward_component_mean/format": top, "reward_mean": 2 * top}

    assert [one.severity for one in _found(columns_run(silent | {"reward_mean": top}), "DEGENERATE_GROUPS")] == ["info"]
    assert [one.severity for one in _found(columns_run(silent | parts), "DEGENERATE_GROUPS")] == ["info"]
    assert _alarms(columns_run(silent | parts | {"reward_component_mean/right": low}), "DEGENERATE_GROUPS")
    assert not _found(columns_run(silent | parts), "NO_LEARNING")


def test_small_groups_that_often_agree_are_not_degenerate() -> None:
    agree = np.random.default_rng(0).random(200) < 0.55
    run = columns_run(
        {"reward_std_group_mean": np.where(agree, 0.0, 0.5), "reward_mean": course(0.4, 0.4, 200, noise=0.2)}
    )

    assert not _found(run, "DEGENERATE_GROUPS")


def test_reinforce_has_no_groups_to_judge() -> None:
    rows = {"reward_std_group_mean": np.zeros(ROWS), "reward_std_batch": np.full(ROWS, 0.4)}
    rows |= {"reward_mean": course(0.2, 0.8, ROWS, noise=0.02)}

    assert not _found(columns_run(rows, algorithm="reinforce"), "DEGENERATE_GROUPS")
    assert _found(columns_run(rows, algorithm="grpo"), "DEGENERATE_GROUPS")


def test_advantages_that_shrink_with_the_loud_groups_have_not_collapsed() -> None:
    silent = np.linspace(0.0, 0.9, ROWS)
    rows = {"reward_mean": course(0.2, 0.8, ROWS, noise=0.02), "zero_variance_group_fraction": silent}
    fine = rows | {"advantage_std": np.sqrt(1 - silent)}
    lost = rows | {"advantage_std": np.where(np.arange(ROWS) < 30, 1.0, 0.01)}

    assert not _found(columns_run(fine), "ADV_COLLAPSE")
    assert _alarms(columns_run(lost | {"reward_mean": course(0.3, 0.3, ROWS, noise=0.02)}), "ADV_COLLAPSE")


def test_advantages_of_zero_from_the_start_are_critical_while_rewards_vary() -> None:
    rows = {"reward_mean": course(0.2, 0.2, 40, noise=0.05), "advantage_std": np.zeros(40)}
    same = {"reward_mean": np.full(40, 0.2), "advantage_std": np.zeros(40)}

    assert [one.severity for one in _alarms(columns_run(rows), "ADV_COLLAPSE")] == ["critical"]
    assert not _found(columns_run(same), "ADV_COLLAPSE")


def test_the_bound_of_a_standard_score_is_applied_only_where_settings_say_so() -> None:
    rows = {"reward_mean": course(0.2, 0.8, 40, noise=0.02), "advantage_max": np.full(40, 2.5)}
    scaled = {"group_size": 4, "advantage_scaling": "group"}

    assert _alarms(columns_run(rows, settings=scaled), "ADVANTAGE_INVALID")
    assert not _found(columns_run(rows, settings=scaled | {"group_size": 8}), "ADVANTAGE_INVALID")
    assert not _found(columns_run(rows, settings={"group_size": 4}), "ADVANTAGE_INVALID")


def test_a_kl_that_is_paid_token_by_token_may_take_advantages_beyond_the_groups_bound() -> None:
    rows = {"reward_mean": course(0.2, 0.8, 40, noise=0.02), "advantage_max": np.full(40, 2.5)}
    taught = rows | {"reward_with_kl_mean": rows["reward_mean"] - 3.0}
    same = rows | {"reward_with_kl_mean": rows["reward_mean"]}
    scaled = {"group_size": 4, "advantage_scaling": "group"}

    assert not _found(columns_run(taught, settings=scaled), "ADVANTAGE_INVALID")
    assert _alarms(columns_run(same, settings=scaled), "ADVANTAGE_INVALID")


@pytest.mark.parametrize(("fraction", "severity"), [(0.05, None), (0.2, "warning"), (0.9, "critical")])
def test_signs_against_the_reward_are_told_by_their_number(fraction: float, severity: str | None) -> None:
    rows = {"reward_mean": course(0.2, 0.8, 40, noise=0.02)}
    found = _alarms(
        columns_run(rows | {"advantage_reward_disagreement_fraction": np.full(40, fraction)}), "ADVANTAGE_INVALID"
    )

    assert [one.severity for one in found] == ([] if severity is None else [severity])


def test_mixed_groups_are_critical_and_advantages_that_are_rewards_a_warning() -> None:
    reward = course(-0.5, 0.5, 40, noise=0.3)
    mixed = {"reward_mean": reward, "mixed_prompt_group_fraction": np.full(40, 0.1)}
    ends = {"reward_max": reward + 0.2, "reward_min": reward - 0.2}
    raw = {"reward_mean": reward, "advantage_max": reward + 0.2, "advantage_min": reward - 0.2} | ends

    assert [one.severity for one in _alarms(columns_run(mixed), "GROUPING_BUG")] == ["critical"]
    assert [one.severity for one in _alarms(columns_run(raw), "GROUPING_BUG")] == ["warning"]
    assert not _found(columns_run(raw, algorithm="reinforce"), "GROUPING_BUG")


def test_wrong_answers_that_grow_alone_are_a_bias_and_both_growing_is_not() -> None:
    wrong, right = course(200, 500, ROWS, noise=5), course(200, 210, ROWS, noise=5)
    base = {"reward_mean": course(0.3, 0.4, ROWS, noise=0.02), "completion_tokens_wrong_mean": wrong}

    assert _alarms(columns_run(base | {"completion_tokens_right_mean": right}), "LENGTH_BIAS")
    assert not _found(columns_run(base | {"completion_tokens_right_mean": wrong}), "LENGTH_BIAS")


@pytest.mark.parametrize("seed", [3, 4, 8, 9, 15, 25, 31])
def test_silence_that_noise_lifts_for_a_while_is_left_alone_and_a_change_is_not(seed: int) -> None:
    slow = 0.3 * noise(seed, 300, 0.9)
    usual = 1 / (1 + np.exp(-(0.75 + slow)))
    changed = np.where(np.arange(300) < 150, usual, 1 / (1 + np.exp(-(2.0 + slow))))
    reward = 0.3 + 0.02 * noise(seed + 1, 300)

    assert np.convolve(usual, np.full(30, 1 / 30), "valid").max() > 0.755  # of silent groups in 30 rows; 0.75 is many
    assert not _found(columns_run({"zero_variance_group_fraction": usual, "reward_mean": reward}), "DEGENERATE_GROUPS")
    found = _alarms(columns_run({"zero_variance_group_fraction": changed, "reward_mean": reward}), "DEGENERATE_GROUPS")
    assert [150 <= one.detected_step < 175 for one in found] == [True]
