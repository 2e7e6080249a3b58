"""Each fault shows at its mechanism, in raw numbers, before anything judges it."""

import math
from pathlib import Path

import numpy as np
import pytest

from rlprobe import lab
from rlprobe.recording.run import Run
from tests.support.lab_runs import each, of, trained

pytestmark = pytest.mark.slow


def _run(name: str) -> Run:
    return trained(name).run


def _fifths(name: str, metric: str) -> tuple[float, float]:
    """Mean of the first and of the last fifth of what was logged."""
    run = _run(name)
    values = run.column(metric)[run.logged(metric)]
    count = max(len(values) // 5, 1)
    return float(values[:count].mean()), float(values[-count:].mean())


def _all(name: str, metric: str) -> np.ndarray:
    run = _run(name)
    return run.column(metric)[run.logged(metric)]


BOUND = 7 / math.sqrt(8)  # of standardised advantages: (n - 1) / sqrt(n) with the sample deviation
RISES = {
    "length-hack": ("completion_tokens_mean", 1.3),
    "format-gaming": ("format_fraction", 1.05),
    "kl-escape": ("kl_mean", 2.0),
    "learning-rate-huge": ("kl_mean", 1.05),
    "entropy-bonus": ("entropy_mean", 1.4),
    "unsynced-sampler": ("sampler_logprob_difference_mean", 1.5),
    "gradient-accumulates": ("grad_norm", 2.0),
    "thoughts-paid": ("completion_tokens_mean", 1.5),
    "repetition-paid": ("repetition_fraction", 2.0),
    "foreign-script-paid": ("foreign_script_fraction", 5.0),
    "length-bias": ("completion_tokens_wrong_mean", 1.5),
    "cache-never-freed": ("generation_seconds", 1.5),
    "memory-leak": ("memory_bytes", 1.5),
    "stale-queue": ("staleness_max", 3.0),
    "straggler": ("rank_step_seconds_max", 1.5),
}
FALLS = {
    "wrong-text": ("accuracy_fraction", 0.5),
    "sign-flip": ("reward_mean", 0.3),
    "late-restart": ("reward_mean", 0.6),
    "stop-string": ("reward_mean", 0.5),
    "markup-filter": ("format_fraction", 0.3),
    "judge-saturated": ("reward_std_group_mean", 0.6),
    "entropy-sign": ("entropy_mean", 0.4),
    "brevity-paid": ("completion_tokens_mean", 0.5),
    "tool-down": ("tool_calls_mean", 0.8),
    "positives-muted": ("logprob_positive_mean", 1.1),
    "preference-fast": ("chosen_logprob_mean", math.nan),
    "preference-drift": ("chosen_logprob_mean", math.nan),
    "format-traded": ("accuracy_fraction", 0.5),
    "tool-wears-out": ("tool_calls_mean", 0.6),
}
ALWAYS = {
    "constant-reward": ("reward_std_batch", 0.0, 0.0),
    "dead-component": ("reward_component_std/tags", 0.0, 0.0),
    "end-token-kept": ("reward_text_mismatch_fraction", 1.0, 1.0),
    "mixed-groups": ("mixed_prompt_group_fraction", 1.0, 1.0),
    "drowned-advantages": ("advantage_abs_mean", 0.0, 0.01),
    "group-of-one": ("advantage_abs_mean", 0.0, 0.0),
    "kl-dominates": ("kl_mean", 0.0, 0.02),
    "moving-reference": ("kl_mean", 0.0, 0.0),
    "dropout-on": ("ratio_first_pass_deviation", 0.1, math.inf),
    "learning-rate-zero": ("learning_rate", 0.0, 0.0),
    "frozen-weights": ("weight_update_ratio", 0.0, 0.0),
    "rounded-away": ("weight_changed_fraction", 0.0, 0.05),
    "detached-loss": ("grad_norm", 0.0, 0.0),
    "eos-blocked": ("truncated_fraction", 1.0, 1.0),
    "cap-short": ("truncated_fraction", 0.8, 1.0),
    "decode-blanks": ("empty_fraction", 1.0, 1.0),
    "same-seed": ("duplicate_fraction", 0.875, 0.875),
    "temperature-low": ("duplicate_fraction", 0.6, 1.0),
}

# Seldom below the bound by chance, in the whole run with seed 0 too: looked at in a run of their own.
OFTEN = {
    "too-hard": ("all_wrong_group_fraction", 0.3, 1.0),
    "unscored-sampling": ("ratio_first_pass_deviation", 0.3, math.inf),
}


@pytest.mark.parametrize("name", each(RISES))
def test_what_the_fault_drives_up_goes_up(name: str) -> None:
    metric, factor = RISES[name]
    first, last = _fifths(name, metric)
    assert last > factor * first, (metric, first, last)


@pytest.mark.parametrize("name", each(FALLS))
def test_what_the_fault_drives_down_goes_down(name: str) -> None:
    metric, factor = FALLS[name]
    first, last = _fifths(name, metric)
    assert last < (first if math.isnan(factor) else factor * first), (metric, first, last)


@pytest.mark.parametrize("name", each(ALWAYS))
def test_what_the_fault_fixes_stays_there(name: str) -> None:
    metric, low, high = ALWAYS[name]
    values = _all(name, metric)
    assert len(values) > 0
    assert ((values >= low) & (values <= high)).all(), (metric, values.min(), values.max())


@pytest.mark.parametrize("name", OFTEN)
def test_what_the_fault_fixes_stays_there_in_a_shorter_run(name: str) -> None:
    metric, low, high = OFTEN[name]
    run = lab.run_in_memory(name, 150, seed=5)
    values = run.column(metric)[run.logged(metric)]
    assert len(values) > 0
    assert ((values >= low) & (values <= high)).all(), (metric, values.min(), values.max())


@of("proxy-overoptimised")
def test_a_proxy_is_bought_with_the_true_score() -> None:
    true = _run("proxy-overoptimised").column("true_reward_mean")
    smooth = np.convolve(true, np.full(15, 1 / 15), "valid")
    assert smooth.max() > smooth[0] + 0.05
    assert smooth[-1] < 0.2 * smooth.max()


@of("memorised")
def test_prompts_are_learned_by_heart_and_nothing_else() -> None:
    assert _fifths("memorised", "reward_mean")[1] > 0.9
    first, last = _fifths("memorised", "evaluation_score/heldout")
    assert last < first + 0.1


@of("random-judge")
def test_a_random_judge_teaches_nothing() -> None:
    first, last = _fifths("random-judge", "reward_mean")
    assert abs(last - first) < 0.03
    assert _all("random-judge", "reward_std_batch").min() > 0.1


@of("judge-swapped")
def test_a_swapped_judge_moves_the_reward_and_not_the_policy() -> None:
    before, after = (_all("judge-swapped", "reward_mean")[part] for part in (slice(170, 180), slice(180, 190)))
    assert after.mean() > before.mean() + 2.0
    entropy = _all("judge-swapped", "entropy_mean")
    assert abs(entropy[180:190].mean() - entropy[170:180].mean()) < 0.1


@of("reward-nan")
def test_nan_rewards_reach_the_loss() -> None:
    assert not np.isfinite(_all("reward-nan", "loss")).all()


@of("reward-nan-skipped")
def test_nan_rewards_are_skipped() -> None:
    assert _all("reward-nan-skipped", "skipped_update_fraction").max() == 1.0
    assert np.isfinite(_all("reward-nan-skipped", "entropy_mean")).all()


@of("half-precision-overflow")
def test_half_precision_overflows_once_its_scale_has_grown() -> None:
    norms = _all("half-precision-overflow", "grad_norm")
    assert np.isfinite(norms[:20]).all()
    assert not np.isfinite(norms[-1])


@of("variance-division")
def test_advantages_divided_by_the_variance_break_the_bound_of_standardised_groups() -> None:
    assert _all("variance-division", "advantage_max").max() > 2 * BOUND


@of("mixed-groups")
def test_advantages_divided_by_the_deviation_keep_the_bound_in_mixed_groups_too() -> None:
    assert max(abs(_all("mixed-groups", "advantage_max"))) <= BOUND


def test_a_flipped_sign_disagrees_with_every_sample_that_has_an_advantage() -> None:
    rows = lab.run_in_memory("sign-flip", 1, seed=0).samples(step=1).columns
    reward, advantage, groups = (np.asarray(rows[name]) for name in ("reward", "advantage", "group"))
    for group in np.unique(groups):
        inside = groups == group
        assert (
            np.sign(np.round(advantage[inside], 9)) == -np.sign(np.round(reward[inside] - reward[inside].mean(), 9))
        ).all()


@pytest.mark.parametrize("name", each(["wrong-reference", "reference-template", "reference-first-token"]))
def test_a_wrong_reference_shows_before_the_first_update(name: str) -> None:
    assert _all(name, "kl_mean")[0] > 0.02


@of("reference-first-token")
def test_the_drift_of_a_blind_start_sits_in_the_first_quarter() -> None:
    assert _all("reference-first-token", "kl_position_fraction/0")[:5].min() > 0.9


@of("coarse-sampler")
def test_a_coarse_sampler_differs_from_the_trainer_from_the_first_step() -> None:
    assert _all("coarse-sampler", "sampler_logprob_difference_mean")[0] > 0.05


@of("sign-flip")
def test_the_right_reference_and_sampler_agree_with_the_trainer_before_the_first_update() -> None:
    assert _all("sign-flip", "kl_mean")[0] == 0.0
    assert _all("sign-flip", "sampler_logprob_difference_mean")[0] < 0.001


@of("tight-clip")
def test_a_tight_clip_takes_much_of_the_gradient() -> None:
    assert _all("tight-clip", "clip_fraction").mean() > 0.3


@of("value-diverges")
def test_a_fast_value_head_explains_less_than_nothing() -> None:
    assert np.median(_all("value-diverges", "value_explained_variance")[-50:]) < -0.05


@of("gradient-spikes")
def test_gradients_spike_again_and_again() -> None:
    norms = _all("gradient-spikes", "grad_norm")
    assert (norms > 10 * np.median(norms)).sum() >= 16


@of("bad-resume")
def test_a_bad_resume_loses_what_was_learned() -> None:
    run = _run("bad-resume")
    assert [event.kind for event in run.events if event.kind == "resume"] == ["resume"]
    rewards = run.column("reward_mean")
    assert rewards[150:155].mean() < rewards[140:150].mean() - 0.2
    assert len(run.segments) == 2


@of("frozen-logger")
def test_a_logger_that_breaks_freezes_while_training_goes_on() -> None:
    assert len(set(_all("frozen-logger", "entropy_mean")[130:].tolist())) == 1
    assert len(set(_all("frozen-logger", "reward_mean")[130:].tolist())) > 20


@of("lost-logger")
def test_a_logger_that_dies_stops_while_training_goes_on() -> None:
    assert not _run("lost-logger").logged("grad_norm")[190:].any()
    assert _run("lost-logger").logged("reward_mean").all()


def test_every_fault_is_looked_at() -> None:
    source = Path(__file__).read_text(encoding="utf-8")
    unseen = [fault.name for fault in lab.faults() if f'"{fault.name}"' not in source]
    assert unseen == []
