"""Signatures of the reward: what real runs show first, then the borders at which a look-alike must stay silent."""

import numpy as np
import pytest

from rlprobe.doctor.engine import diagnose
from rlprobe.doctor.finding import Finding
from rlprobe.recording.run import Event, FloatArray, Run
from tests.support.runs import columns_run, course, real_run
from tests.support.strategies import noise

ROWS = 120


def _found(run: Run, id: str) -> tuple[Finding, ...]:
    return tuple(one for one in diagnose(run).findings if one.id == id)


def _alarms(run: Run, id: str) -> tuple[Finding, ...]:
    return tuple(one for one in _found(run, id) if one.severity != "info" and one.status == "active")


def _flat(level: float, rows: int = ROWS, noise: float = 0.02, seed: int = 3) -> FloatArray:
    return course(level, level, rows, noise=noise, seed=seed)


@pytest.mark.parametrize(
    ("name", "id", "latest"),
    [
        ("verl-b06", "REWARD_CONSTANT", 1),
        ("verl-02", "REWARD_COLLAPSE", 36),
        ("verl-07", "REWARD_COLLAPSE", 40),
        ("coati-04", "REWARD_COLLAPSE", 30),
        ("unsloth-10", "REWARD_STD_DEATH", 150),
        ("unsloth-19", "REWARD_STD_DEATH", 30),
        ("unsloth-23", "NO_LEARNING", 1),
        ("unsloth-29", "NO_LEARNING", 1),
        ("oenv-03", "NO_LEARNING", 10),
        ("oi-01", "NO_LEARNING", 256),
        ("rhe-02", "REWARD_OVEROPTIMIZATION", 15),
        ("rhe-16", "REWARD_OVEROPTIMIZATION", 15),
    ],
)
def test_a_failing_public_run_is_named_from_about_its_onset(name: str, id: str, latest: int) -> None:
    found = _alarms(real_run(name), id)

    assert found
    assert found[0].onset_step <= latest


@pytest.mark.parametrize("name", ["unsloth-11", "unsloth-18", "unsloth-22", "custom-01", "coati-26", "verl-b01"])
def test_a_healthy_public_run_raises_nothing_about_its_reward(name: str) -> None:
    alarms = [one.id for one in diagnose(real_run(name)).findings if one.severity != "info" and one.stage == "reward"]

    assert alarms == []


def test_a_constant_reward_is_told_after_twenty_rows_and_critical_after_forty() -> None:
    short, enough, long = (columns_run({"reward_mean": np.full(n, -1.0)}) for n in (19, 20, 40))

    assert not _found(short, "REWARD_CONSTANT")
    assert [one.severity for one in _found(enough, "REWARD_CONSTANT")] == ["warning"]
    assert [one.severity for one in _found(long, "REWARD_CONSTANT")] == ["critical"]


def test_one_row_with_spread_shows_that_rewards_are_not_constant() -> None:
    spread = np.zeros(30)
    spread[7] = 0.2

    assert not _found(columns_run({"reward_mean": np.zeros(30), "reward_std_batch": spread}), "REWARD_CONSTANT")


def test_a_collapse_is_found_and_a_dip_that_heals_is_not() -> None:
    fallen = np.concatenate([course(0.1, 0.8, 70, noise=0.03), _flat(0.05, 50)])
    dipped = np.concatenate([course(0.1, 0.8, 60, noise=0.03), _flat(0.5, 15), course(0.8, 0.9, 60, noise=0.03)])

    assert [one.severity for one in _alarms(columns_run({"reward_mean": fallen}), "REWARD_COLLAPSE")] == ["critical"]
    assert not _found(columns_run({"reward_mean": dipped}), "REWARD_COLLAPSE")


def test_a_fall_at_a_resume_is_left_to_the_resume_at_first() -> None:
    reward = np.concatenate([course(0.1, 0.8, 70, noise=0.03), _flat(0.05, 18)])
    resumed = columns_run({"reward_mean": reward}, events=[Event(kind="resume", step=70)])

    assert not _found(resumed, "REWARD_COLLAPSE")


def test_a_flat_reward_alone_needs_three_hundred_rows_and_a_witness_shortens_that() -> None:
    cut = {"truncated_fraction": _flat(0.8, 60)}

    assert not _found(columns_run({"reward_mean": _flat(0.2, 280)}), "NO_LEARNING")
    assert _alarms(columns_run({"reward_mean": _flat(0.2, 340)}), "NO_LEARNING")
    assert _alarms(columns_run({"reward_mean": _flat(0.2, 60)} | cut), "NO_LEARNING")


def test_truncation_that_heals_is_no_witness_and_neither_is_a_rising_reward() -> None:
    healing = {"truncated_fraction": course(0.95, 0.5, 60, noise=0.02)}
    cut = {"truncated_fraction": _flat(0.8, 60)}

    assert not _found(columns_run({"reward_mean": _flat(0.2, 60)} | healing), "NO_LEARNING")
    assert not _found(columns_run({"reward_mean": course(0.1, 0.6, 60, noise=0.03)} | cut), "NO_LEARNING")


def test_spread_that_dies_with_mastery_is_no_death() -> None:
    dying = course(0.5, 0.0, ROWS)
    mastered = {"reward_mean": course(0.2, 1.0, ROWS, noise=0.01), "reward_std_batch": dying}
    parked = {"reward_mean": _flat(0.3), "reward_std_batch": np.where(np.arange(ROWS) < 60, 0.5, 0.01)}

    assert not _found(columns_run(mastered), "REWARD_STD_DEATH")
    assert _alarms(columns_run(parked), "REWARD_STD_DEATH")


def test_a_reward_that_right_answers_do_not_bear_out_is_no_mastery() -> None:
    spread = np.where(np.arange(ROWS) < 60, 0.5, 0.01)
    judged = {"reward_mean": course(0.2, 1.0, ROWS, noise=0.01), "reward_std_batch": spread}

    assert not _found(columns_run(judged), "REWARD_STD_DEATH")
    assert _alarms(columns_run(judged | {"accuracy_fraction": _flat(0.1)}), "REWARD_STD_DEATH")


def test_length_that_is_paid_is_told_and_length_that_solves_more_is_not() -> None:
    paid = {
        "reward_mean": course(0.2, 0.9, ROWS, noise=0.02),
        "completion_tokens_mean": course(200, 900, ROWS, noise=5),
        "length_reward_correlation": _flat(0.6),
    }

    assert _alarms(columns_run(paid | {"accuracy_fraction": _flat(0.2)}), "REWARD_HACK_LENGTH")
    assert not _found(
        columns_run(paid | {"accuracy_fraction": course(0.2, 0.8, ROWS, noise=0.02)}), "REWARD_HACK_LENGTH"
    )
    assert not _found(columns_run(paid | {"length_reward_correlation": _flat(0.1)}), "REWARD_HACK_LENGTH")


def test_a_proxy_that_leaves_the_truth_behind_is_told_and_one_that_shares_its_gain_is_not() -> None:
    proxy = course(0.1, 0.8, 60, noise=0.02)

    assert _alarms(
        columns_run({"reward_mean": proxy, "true_reward_mean": _flat(0.02, 60, 0.004)}), "REWARD_OVEROPTIMIZATION"
    )
    assert not _found(
        columns_run({"reward_mean": proxy, "true_reward_mean": course(0.0, 0.3, 60, noise=0.02)}),
        "REWARD_OVEROPTIMIZATION",
    )


def test_right_answers_stand_for_a_true_score_that_is_not_logged_and_only_their_fall_counts() -> None:
    rising = {"reward_mean": course(-3.0, 3.0, ROWS, noise=0.2)}
    falling, flat = course(0.5, 0.3, ROWS, noise=0.02), course(0.5, 0.5, ROWS, noise=0.02)

    (one,) = _alarms(columns_run(rising | {"accuracy_fraction": falling}), "REWARD_OVEROPTIMIZATION")
    assert one.severity == "critical"
    assert not _found(columns_run(rising | {"accuracy_fraction": flat}), "REWARD_OVEROPTIMIZATION")
    truly = {"true_reward_mean": course(0.1, 0.6, ROWS, noise=0.02)}
    assert not _found(columns_run(rising | {"accuracy_fraction": falling} | truly), "REWARD_OVEROPTIMIZATION")


def test_an_easy_function_at_its_ceiling_is_gaming_only_while_the_hard_one_stands_still() -> None:
    rows = 200
    easy = np.concatenate([course(0.2, 1.0, 25), _flat(1.0, rows - 25, 0.01)])
    spread = np.where(np.arange(rows) < 25, 0.5, 0.1)
    stuck, learned = _flat(0.05, rows), course(0.05, 0.8, rows, noise=0.02)

    def run(hard: FloatArray) -> Run:
        parts = {"reward_component_mean/format": easy, "reward_component_mean/correct": hard}
        return columns_run(
            parts | {"reward_mean": easy + hard, "reward_std_batch": spread, "accuracy_fraction": np.clip(hard, 0, 1)}
        )

    assert [one.subject for one in _alarms(run(stuck), "FORMAT_GAMING")] == ["format"]
    assert not _found(run(learned), "FORMAT_GAMING")


def test_answers_that_are_traded_for_format_are_told_and_the_opposite_trade_is_not() -> None:
    falling, rising = course(0.6, 0.1, ROWS, noise=0.03), np.minimum(1.0, course(0.1, 1.6, ROWS, noise=0.02))

    def run(**parts: FloatArray) -> Run:
        names = {f"reward_component_mean/{name}": values for name, values in parts.items()}
        total = {"reward_mean": np.sum([*parts.values()], axis=0), "reward_std_batch": _flat(0.4)}
        return columns_run(total | names)

    traded = _alarms(run(correctness_reward=falling, format_reward=rising), "FORMAT_GAMING")

    assert [one.subject for one in traded] == ["format_reward"]
    assert not _found(run(correctness_reward=rising, length_penalty=falling), "FORMAT_GAMING")
    assert not _found(run(correctness_reward=falling, format_reward=rising, bonus=4 * falling), "FORMAT_GAMING")


def test_a_lost_format_is_told_and_one_that_never_was_is_not() -> None:
    lost = np.concatenate([_flat(0.9, 60), _flat(0.3, 60)])

    assert _alarms(columns_run({"format_fraction": lost}), "FORMAT_LOSS")
    assert not _found(columns_run({"format_fraction": course(0.2, 0.05, ROWS, noise=0.02)}), "FORMAT_LOSS")


def test_a_jump_of_mean_and_spread_with_a_calm_policy_is_a_change_of_scale() -> None:
    step = np.where(np.arange(ROWS) < 80, 1.0, 3.0)
    calm = {
        "reward_mean": 0.3 * step + _flat(0.0),
        "reward_std_batch": 0.2 * step,
        "entropy_mean": _flat(0.8),
        "completion_tokens_mean": _flat(300.0, noise=3),
    }
    moved = calm | {"entropy_mean": _flat(0.8) / step}

    found = _alarms(columns_run(calm), "REWARD_SCALE_SHIFT")
    assert len(found) == 1
    assert abs(found[0].onset_step - 80) <= 2
    assert not _found(columns_run(moved), "REWARD_SCALE_SHIFT")


def test_a_reward_that_is_no_number_is_critical_at_once() -> None:
    bad = np.zeros(30)
    bad[12] = 1
    found = _found(columns_run({"reward_mean": _flat(0.3, 30), "reward_nonfinite_count": bad}), "REWARD_NOT_FINITE")

    assert [(one.severity, one.detected_step) for one in found if one.status == "recovered"] == [("info", 12)]
    still = columns_run({"reward_mean": _flat(0.3, 13), "reward_nonfinite_count": bad[:13]})
    assert [one.severity for one in _found(still, "REWARD_NOT_FINITE")] == ["critical"]


def test_text_that_differs_for_many_samples_is_told_after_three_rows() -> None:
    rows = {"reward_mean": _flat(0.3, 30)}

    assert _alarms(columns_run(rows | {"reward_text_mismatch_fraction": np.full(30, 0.1)}), "REWARD_TEXT_MISMATCH")
    assert not _found(columns_run(rows | {"reward_text_mismatch_fraction": np.full(30, 0.01)}), "REWARD_TEXT_MISMATCH")


def test_a_dead_reward_function_costs_no_more_than_a_remark() -> None:
    parts = {"reward_component_mean/tags": np.zeros(60), "reward_component_mean/correct": course(0.1, 0.8, 60)}
    found = _found(columns_run(parts | {"reward_mean": course(0.1, 0.8, 60)}), "REWARD_COMPONENT_DEAD")

    assert [(one.subject, one.severity) for one in found] == [("tags", "info")]


def test_one_wild_reward_does_not_hide_that_a_run_has_learned() -> None:
    reward = course(0.2, 0.9, 400, noise=0.05)
    reward[160] = 60.0

    assert not _found(columns_run({"reward_mean": reward}), "NO_LEARNING")


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_reward_whose_noise_repeats_itself_takes_longer_to_be_flat(seed: int) -> None:
    slow, quick = 0.3 + 0.1 * noise(seed, 2000, 0.9), 0.3 + 0.1 * noise(seed, 400)

    assert not _found(columns_run({"reward_mean": slow[:400]}), "NO_LEARNING")
    assert _alarms(columns_run({"reward_mean": quick}), "NO_LEARNING")


@pytest.mark.parametrize("seed", [3, 6, 17, 18, 31, 34])
def test_a_policy_stands_still_only_where_its_distance_does_not_just_dip(seed: int) -> None:
    dip = 7e-4 * np.exp(0.35 * noise(seed, ROWS, 0.9))
    still = 1e-4 * np.exp(0.35 * noise(seed, ROWS, 0.9))
    reward = _flat(0.3)

    assert any(np.median(dip[row - 14 : row + 1]) < 5e-4 for row in range(60, ROWS))
    assert not _found(columns_run({"reward_mean": reward, "kl_mean": dip}), "NO_LEARNING")
    assert _alarms(columns_run({"reward_mean": reward, "kl_mean": still}), "NO_LEARNING")
