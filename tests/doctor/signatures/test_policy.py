"""Signatures of the policy: what real runs show first, then the borders at which a look-alike must stay silent."""

import numpy as np
import pytest

from rlprobe.doctor.engine import diagnose
from rlprobe.doctor.finding import Finding
from rlprobe.recording.run import FloatArray, Metadata, Run
from tests.support.runs import columns_run, course, real_run

ROWS = 80
STEPS = range(1, ROWS + 1)


def _found(run: Run, id: str) -> tuple[Finding, ...]:
    return tuple(one for one in diagnose(run).findings if one.id == id)


def _alarms(run: Run, id: str) -> tuple[Finding, ...]:
    return tuple(one for one in _found(run, id) if one.severity != "info")


def _flat(level: float, noise: float = 0.0, seed: int = 0) -> FloatArray:
    return course(level, level, ROWS, noise=noise, seed=seed)


FLAT_REWARD = _flat(0.3, 0.02, seed=1)
RISING_REWARD = course(0.1, 0.9, ROWS, noise=0.02, seed=1)


@pytest.mark.parametrize(
    ("name", "id", "earliest", "latest"),
    [
        ("verl-01", "KL_BLOWUP", 4, 10),
        ("verl-02", "KL_BLOWUP", 25, 40),
        ("unsloth-06", "KL_BLOWUP", 80, 160),
        ("coati-10", "KL_BLOWUP", 220, 250),
        ("verl-01", "ENTROPY_COLLAPSE", 6, 20),
        ("verl-06", "ENTROPY_EXPLOSION", 5, 20),
        ("verl-07", "ENTROPY_EXPLOSION", 3, 30),
        ("coati-02", "CLIP_SATURATION", 1, 15),
        ("coati-04", "CLIP_SATURATION", 10, 40),
        ("coati-20", "CLIP_SATURATION", 1, 10),
        ("coati-22", "CLIP_SATURATION", 1, 15),
        ("coati-24", "CLIP_SATURATION", 80, 120),
        ("unsloth-23", "REFERENCE_MISMATCH", 1, 1),
        ("unsloth-32", "REFERENCE_MISMATCH", 1, 1),
    ],
)
def test_a_real_failure_is_named_near_where_it_began(name: str, id: str, earliest: int, latest: int) -> None:
    onsets = [one.onset_step for one in _alarms(real_run(name), id)]
    assert any(earliest <= onset <= latest for onset in onsets), onsets


@pytest.mark.parametrize("name", ["unsloth-18", "unsloth-22", "unsloth-12", "oenv-02", "custom-09", "verl-03"])
def test_real_kl_that_is_large_spiky_or_there_from_the_start_is_left_alone(name: str) -> None:
    assert not _found(real_run(name), "KL_BLOWUP")


@pytest.mark.parametrize("name", ["verl-13", "verl-10", "verl-18", "verl-19", "verl-b21", "verl-b01", "verl-b15"])
def test_real_entropy_that_moves_with_a_rising_reward_is_left_alone(name: str) -> None:
    ids = {one.id for one in diagnose(real_run(name)).findings}
    assert not ids & {"ENTROPY_EXPLOSION", "ENTROPY_COLLAPSE"}


@pytest.mark.parametrize("name", ["verl-03", "verl-04", "verl-06", "verl-07", "verl-09"])
def test_a_teachers_kl_is_neither_a_wrong_reference_nor_a_negative_divergence(name: str) -> None:
    ids = {one.id for one in diagnose(real_run(name)).findings}
    assert not ids & {"REFERENCE_MISMATCH", "DECODE_MISMATCH"}


def test_entropy_near_zero_is_mastery_when_the_best_reward_is_reached() -> None:
    entropy = np.exp(course(0.0, -5.0, ROWS))
    bounds = {"reward_max": _flat(1.0), "reward_min": _flat(0.0), "entropy_mean": entropy}
    half = np.minimum(0.5, course(0.1, 1.0, ROWS)) + _flat(0.0, 0.02)
    assert not _found(columns_run({**bounds, "reward_mean": course(0.1, 1.0, ROWS)}), "ENTROPY_COLLAPSE")
    assert _alarms(columns_run({**bounds, "reward_mean": half}), "ENTROPY_COLLAPSE")
    assert _alarms(columns_run({**bounds, "reward_mean": FLAT_REWARD}), "ENTROPY_COLLAPSE")


def test_entropy_that_triples_is_exploration_only_while_the_reward_rises() -> None:
    entropy = course(0.3, 0.9, ROWS, noise=0.01)
    assert not _found(columns_run({"entropy_mean": entropy, "reward_mean": RISING_REWARD}), "ENTROPY_EXPLOSION")
    assert _alarms(columns_run({"entropy_mean": entropy, "reward_mean": FLAT_REWARD}), "ENTROPY_EXPLOSION")


def test_a_placeholder_column_of_zeros_says_nothing() -> None:
    zeros = {name: _flat(0.0) for name in ("entropy_mean", "kl_mean", "clip_fraction", "kl_old_mean")}
    ids = {one.id for one in diagnose(columns_run({**zeros, "reward_mean": FLAT_REWARD})).findings}
    assert not ids & {"ENTROPY_COLLAPSE", "REFERENCE_MOVING", "KL_DOMINATES", "CLIP_SATURATION"}


def test_entropy_is_not_paid_for_by_a_reward_that_is_being_lost() -> None:
    lost = np.concatenate([course(0.1, 0.9, 40, noise=0.02), course(0.9, 0.3, 40, noise=0.02)])
    wild = {"entropy_mean": np.exp(course(-0.7, 2.0, ROWS, noise=0.05))}

    assert _alarms(columns_run({**wild, "reward_mean": lost}), "ENTROPY_EXPLOSION")
    assert not _found(columns_run({**wild, "reward_mean": RISING_REWARD}), "ENTROPY_EXPLOSION")


@pytest.mark.parametrize("seed", range(1, 7))
def test_entropy_that_strays_from_row_to_row_has_not_risen(seed: int) -> None:
    rng = np.random.default_rng(seed)
    wild = 0.06 * rng.lognormal(-0.5, 1.0, 600)
    reward = 0.9 + 0.3 * rng.standard_normal(600)
    assert not _found(columns_run({"entropy_mean": wild, "reward_mean": reward}), "ENTROPY_EXPLOSION")
    climbed = wild * np.geomspace(1.0, 5.0, 600)
    assert _alarms(columns_run({"entropy_mean": climbed, "reward_mean": reward}), "ENTROPY_EXPLOSION")


def test_kl_that_runs_away_began_where_it_left_its_course_and_not_at_its_first_shock() -> None:
    ramp = 0.01 * np.exp(0.28 * np.maximum(0, np.arange(60) - 30.0) + course(0, 0, 60, noise=0.2))

    (one,) = _alarms(columns_run({"kl_mean": ramp}), "KL_BLOWUP")
    assert 25 <= one.onset_step <= 36


def test_single_kl_shocks_heal_and_frequent_ones_are_a_blowup() -> None:
    kl = _flat(0.1, 0.01)
    kl[[20, 60]] = 4e3
    assert not _found(columns_run({"kl_mean": kl, "reward_mean": FLAT_REWARD}), "KL_BLOWUP")
    kl[30::10] = 4e3
    assert _alarms(columns_run({"kl_mean": kl, "reward_mean": FLAT_REWARD}), "KL_BLOWUP")


def test_a_kl_per_sequence_is_judged_per_token() -> None:
    columns = {"kl_mean": course(0.1, 12.0, ROWS), "completion_tokens_mean": _flat(100.0), "reward_mean": FLAT_REWARD}
    summed = Metadata(per="sequence", estimator="k1", pair="policy/reference")
    assert _alarms(columns_run(columns), "KL_BLOWUP")
    assert not _found(columns_run(columns, metadata={"kl_mean": summed}), "KL_BLOWUP")


def test_clipping_of_the_first_rows_and_of_whole_sequences_is_normal() -> None:
    start = np.concatenate([_flat(0.4)[:10], _flat(0.05)[10:]])
    assert not _found(columns_run({"clip_fraction": start}), "CLIP_SATURATION")
    assert not _found(columns_run({"clip_fraction": _flat(0.6)}, settings={"clip_high": 4e-4}), "CLIP_SATURATION")
    assert _alarms(columns_run({"clip_fraction": _flat(0.6)}, settings={"clip_high": 0.2}), "CLIP_SATURATION")


def test_an_unknown_clip_range_is_excused_by_a_reward_that_rises() -> None:
    clip = _flat(0.4, 0.02)
    rising = {"clip_fraction": clip, "reward_mean": course(0.2, 0.9, len(clip), noise=0.02)}
    flat = {"clip_fraction": clip, "reward_mean": _flat(0.3, 0.02)}
    assert not _found(columns_run(rising), "CLIP_SATURATION")
    assert _alarms(columns_run(flat), "CLIP_SATURATION")
    assert _alarms(columns_run(rising, settings={"clip_high": 0.2}), "CLIP_SATURATION")


def test_a_ratio_that_repeats_one_large_value_sits_at_a_bound() -> None:
    assert _alarms(columns_run({"ratio_max": _flat(5.0)}), "CLIP_SATURATION")
    assert not _found(columns_run({"ratio_max": _flat(1.0)}), "CLIP_SATURATION")
    assert not _found(columns_run({"ratio_max": _flat(5.0, 0.5)}), "CLIP_SATURATION")


def test_a_wrong_reference_shows_at_the_first_step_only() -> None:
    kl = {"kl_mean": _flat(0.5, 0.02)}
    (one,) = _alarms(columns_run(kl, steps=STEPS), "REFERENCE_MISMATCH")
    assert (one.onset_step, one.detected_step) == (1, 3)
    assert not _found(columns_run(kl, steps=[10 * step for step in STEPS]), "REFERENCE_MISMATCH")
    assert not _found(columns_run({"kl_mean": course(0.0, 0.5, ROWS)}, steps=STEPS), "REFERENCE_MISMATCH")


def test_a_reference_that_follows_is_told_and_one_that_differs_by_a_constant_is_not() -> None:
    moving = {"reference_drift": course(0.0, 0.1, ROWS), "kl_mean": _flat(0.0)}
    assert _alarms(columns_run(moving), "REFERENCE_MOVING")
    assert not _found(columns_run(moving, settings={"sync_reference": True}), "REFERENCE_MOVING")
    assert not _found(columns_run({"reference_drift": _flat(0.3), "kl_mean": _flat(0.4)}), "REFERENCE_MOVING")


@pytest.mark.parametrize("pace", [1e-7, 1e-9, 1e-10])
def test_a_policy_that_leaves_slowly_has_a_reference_that_stands_and_rounding_is_no_leaving(pace: float) -> None:
    moves = {"weight_update_ratio": _flat(1e-6, 1e-7), "reference_drift": _flat(0.0)}
    slow = pace * np.arange(ROWS) ** 2.0 * np.exp(course(0.0, 0.0, ROWS, noise=0.3))
    rounding = np.abs(_flat(0.0, 2e-7)) + 1e-7

    assert slow[21] < 1e-4
    assert not _found(columns_run({**moves, "kl_mean": slow}), "REFERENCE_MOVING")
    assert _alarms(columns_run({**moves, "kl_mean": rounding}), "REFERENCE_MOVING")
    assert _alarms(columns_run({**moves, "kl_mean": _flat(0.0)}), "REFERENCE_MOVING")


def test_a_coefficient_that_holds_kl_and_reward_in_place_dominates() -> None:
    held = {"kl_mean": _flat(0.002, 0.0002), "kl_coefficient": _flat(20.0)}
    assert _alarms(columns_run({**held, "reward_mean": FLAT_REWARD}), "KL_DOMINATES")
    assert not _found(columns_run({**held, "reward_mean": RISING_REWARD}), "KL_DOMINATES")
    held["kl_coefficient"] = _flat(0.04)
    assert not _found(columns_run({**held, "reward_mean": FLAT_REWARD}), "KL_DOMINATES")


def test_a_gap_that_adds_up_is_a_stale_sampler_and_a_constant_one_a_mismatch() -> None:
    grown = np.minimum(0.9, 1e-3 * 1.15 ** np.arange(ROWS))
    stale = {"sampler_logprob_difference_mean": grown, "reward_mean": FLAT_REWARD}
    wide = {"sampler_logprob_difference_mean": _flat(0.12, 0.01), "reward_mean": FLAT_REWARD}
    assert _alarms(columns_run(stale), "STALE_ROLLOUT_WEIGHTS")
    assert _alarms(columns_run(wide), "TRAIN_INFER_MISMATCH")
    assert not _found(columns_run(wide), "STALE_ROLLOUT_WEIGHTS")


def test_a_known_lag_explains_a_gap_and_rounding_is_none() -> None:
    gap = {"sampler_logprob_difference_mean": _flat(0.12, 0.01), "reward_mean": RISING_REWARD}
    assert not _found(columns_run({**gap, "staleness_mean": _flat(2.0)}), "TRAIN_INFER_MISMATCH")
    rounding = {"sampler_logprob_difference_mean": _flat(0.015, 0.002), "sampler_kl_mean": _flat(5e-4, 5e-5)}
    assert not _found(columns_run(rounding), "TRAIN_INFER_MISMATCH")


@pytest.mark.parametrize(
    ("estimator", "level", "told"), [("k3", -0.01, True), ("k1", -0.01, False), ("k1", -0.2, True)]
)
def test_a_negative_kl_is_judged_by_its_estimator(estimator: str, level: float, told: bool) -> None:  # a parameter
    about = Metadata(per="token", estimator=estimator, pair="policy/reference")
    run = columns_run({"kl_mean": _flat(level, abs(level) / 10)}, metadata={"kl_mean": about})
    assert bool(_alarms(run, "DECODE_MISMATCH")) == told


def test_a_mean_ratio_off_one_counts_with_a_single_pass_only() -> None:
    off = {"ratio_mean": _flat(0.83, 0.01)}
    assert _alarms(columns_run(off, settings={"updates_per_rollout": 1}), "DECODE_MISMATCH")
    assert not _found(columns_run(off, settings={"updates_per_rollout": 4}), "DECODE_MISMATCH")
    assert not _found(columns_run(off), "DECODE_MISMATCH")


def test_a_first_pass_may_round_but_not_deviate_unless_samples_are_old() -> None:
    off = {"ratio_first_pass_deviation": _flat(1.5, 0.1)}
    assert _alarms(columns_run(off), "RATIO_NOT_ONE")
    assert not _found(columns_run({**off, "staleness_mean": _flat(3.0)}), "RATIO_NOT_ONE")
    assert not _found(columns_run({"ratio_first_pass_deviation": _flat(0.03, 0.01)}), "RATIO_NOT_ONE")


def test_right_answers_that_become_unlikely_are_told_unless_the_reward_rises() -> None:
    falling = course(-0.6, -2.0, ROWS, noise=0.02)
    assert _alarms(
        columns_run({"logprob_positive_mean": falling, "reward_mean": FLAT_REWARD}), "LIKELIHOOD_DISPLACEMENT"
    )
    assert not _found(
        columns_run({"logprob_positive_mean": falling, "reward_mean": RISING_REWARD}), "LIKELIHOOD_DISPLACEMENT"
    )


def test_chosen_answers_may_lose_some_probability_but_not_double_their_surprise() -> None:
    learned = {"preference_accuracy_fraction": _flat(1.0), "chosen_reward_mean": course(0.0, -2.0, ROWS)}
    assert _alarms(columns_run({**learned, "chosen_logprob_mean": course(-100, -400, ROWS)}), "PREFERENCE_COLLAPSE")
    assert not _found(columns_run({**learned, "chosen_logprob_mean": course(-100, -140, ROWS)}), "PREFERENCE_COLLAPSE")
    assert not _found(real_run("unsloth-37"), "PREFERENCE_COLLAPSE")


def test_chosen_answers_that_fall_by_degrees_are_told_while_they_fall_and_not_once_they_have_settled() -> None:
    pairs = {"preference_accuracy_fraction": _flat(0.99), "chosen_reward_mean": course(0.0, -0.5, ROWS, noise=0.02)}
    falling, settled = course(-100, -180, ROWS, noise=3), np.maximum(course(-100, -420, ROWS), -155.0)
    assert _alarms(columns_run(pairs | {"chosen_logprob_mean": falling}), "PREFERENCE_COLLAPSE")
    assert not _alarms(columns_run(pairs | {"chosen_logprob_mean": settled}), "PREFERENCE_COLLAPSE")


def test_drift_at_one_position_counts_from_the_first_step_or_unpaid() -> None:
    tokens = {f"kl_position_token_fraction/{part}": _flat(0.25) for part in range(4)}
    sharp = {"kl_position_fraction/0": _flat(0.95, 0.01), "kl_position_fraction/1": _flat(0.02), **tokens}
    early = {**sharp, "kl_mean": _flat(0.06, 0.002), "reward_mean": RISING_REWARD}
    late = {**sharp, "kl_mean": course(0.0, 0.4, ROWS)}
    (one,) = _alarms(columns_run(early, steps=STEPS), "REF_POLICY_DRIFT_ASYMMETRY")
    assert one.subject == "0"
    assert _alarms(columns_run({**late, "reward_mean": FLAT_REWARD}, steps=STEPS), "REF_POLICY_DRIFT_ASYMMETRY")
    assert not _found(columns_run({**late, "reward_mean": RISING_REWARD}, steps=STEPS), "REF_POLICY_DRIFT_ASYMMETRY")


def test_entropy_that_is_gone_below_full_marks_is_told_without_the_best_sample_and_mastery_is_not() -> None:
    gone = {"entropy_mean": np.maximum(course(1.0, -1.0, 160), 0.03), "reward_std_batch": course(0.5, 0.48, 160)}
    silent = {"zero_variance_group_fraction": np.minimum(course(0.3, 1.5, 160), 0.9)}

    def rising(to: float) -> dict[str, FloatArray]:
        return {"reward_mean": np.minimum(course(0.2, 2 * to, 160), to) + course(0, 0, 160, noise=0.01)}

    assert _alarms(columns_run(gone | silent | rising(0.55)), "ENTROPY_COLLAPSE")
    assert not _found(columns_run(gone | silent | rising(0.95)), "ENTROPY_COLLAPSE")
    assert not _found(columns_run(gone | rising(0.55)), "ENTROPY_COLLAPSE")
