"""Every backward pass agrees with finite differences of its own loss."""

from collections.abc import Callable

import numpy as np
import pytest

from rlprobe.lab import losses, policy
from rlprobe.lab.advantages import constant_groups, generalized, group_relative, leave_one_out
from rlprobe.lab.losses import Coefficients
from rlprobe.lab.policy import FloatArray, Weights
from rlprobe.lab.vocabulary import SIZE

_STEP = 1e-5
_PROBED = 12  # entries of each weight that are moved


def _batch(seed: int) -> tuple[Weights, FloatArray, FloatArray, np.random.Generator]:
    rng = np.random.default_rng(seed)
    weights = policy.initial(rng, hidden=7)
    weights["head"] = rng.normal(0.0, 0.5, weights["head"].shape)
    prompts, completions = rng.integers(0, SIZE, (3, policy.PROMPT)), rng.integers(0, SIZE, (3, 5))
    rows = policy.features(prompts, completions).reshape(15, -1)
    return weights, rows, completions.reshape(-1), rng


def _check(weights: Weights, loss: Callable[[Weights], float], slope: Weights, rng: np.random.Generator) -> None:
    for name, values in weights.items():
        live = np.flatnonzero(slope[name])
        assert len(live) > 0, name
        for index in rng.choice(live, min(_PROBED, len(live)), replace=False).tolist():
            moved = {sign: weights | {name: values.copy()} for sign in (1, -1)}
            for sign, changed in moved.items():
                changed[name].reshape(-1)[index] += sign * _STEP
            numeric = (loss(moved[1]) - loss(moved[-1])) / (2 * _STEP)
            assert numeric == pytest.approx(slope[name].reshape(-1)[index], rel=2e-4, abs=1e-8)


@pytest.mark.parametrize("estimator", ["k1", "k2", "k3"])
@pytest.mark.parametrize(
    ("kl", "entropy", "temperature"), [(0.0, 0.0, 1.0), (0.3, 0.0, 1.0), (0.0, 0.2, 0.7), (0.1, -0.1, 1.5)]
)
def test_the_policy_loss_has_the_gradient_of_finite_differences(
    estimator: losses.Estimator, kl: float, entropy: float, temperature: float
) -> None:
    weights, rows, tokens, rng = _batch(1)
    now = policy.score(weights, rows, tokens, temperature=temperature).logprobs
    given = {
        "old": now + rng.normal(0.0, 0.3, 15),
        "reference": now + rng.normal(0.0, 0.5, 15),
        "advantages": rng.normal(0.0, 1.0, 15),
        "weights": rng.random(15),
        "coefficients": Coefficients(kl=kl, entropy=entropy, estimator=estimator),
    }

    def terms(at: Weights) -> tuple[policy.Scored, losses.PolicyTerms]:
        scored = policy.score(at, rows, tokens, temperature=temperature)
        return scored, losses.policy_terms(scored.logprobs, scored.entropy, **given)

    scored, found = terms(weights)
    assert (found.low | found.high).any()
    slope = policy.gradient(weights, scored, found.d_logprobs, found.d_entropy)
    _check(weights, lambda at: terms(at)[1].loss, slope, rng)


def test_the_value_loss_has_the_gradient_of_finite_differences() -> None:
    rng = np.random.default_rng(2)
    weights = policy.initial(rng, hidden=7, outputs=1)
    weights["head"] = rng.normal(0.0, 1.0, weights["head"].shape)
    rows = policy.features(rng.integers(0, SIZE, (3, policy.PROMPT)), rng.integers(0, SIZE, (3, 5))).reshape(15, -1)
    old = policy.forward(weights, rows).outputs[:, 0] + rng.normal(0.0, 0.4, 15)
    returns = rng.normal(0.0, 1.0, 15)

    def terms(at: Weights) -> losses.ValueTerms:
        return losses.value_terms(policy.forward(at, rows).outputs[:, 0], old=old, returns=returns, clip=0.3)

    found = terms(weights)
    assert 0 < found.clip_fraction < 1
    slope = policy.backward(weights, policy.forward(weights, rows), found.d_values[:, None])
    _check(weights, lambda at: terms(at).loss, slope, rng)


def test_the_preference_loss_has_the_gradient_of_finite_differences() -> None:
    rng = np.random.default_rng(3)
    values = rng.normal(-5.0, 1.0, (4, 6))
    found = losses.preference_terms(
        values[0], values[1], reference_chosen=values[2], reference_rejected=values[3], beta=0.3
    )
    for which, slope in ((0, found.d_chosen), (1, found.d_rejected)):
        for index in range(6):
            moved = [values.copy(), values.copy()]
            moved[0][which, index] += _STEP
            moved[1][which, index] -= _STEP
            high, low = (
                losses.preference_terms(v[0], v[1], reference_chosen=v[2], reference_rejected=v[3], beta=0.3).loss
                for v in moved
            )
            assert (high - low) / (2 * _STEP) == pytest.approx(slope[index], rel=1e-5)


def test_the_sampler_reports_the_log_probs_that_the_policy_gives_its_tokens() -> None:
    from rlprobe.lab import sampler

    weights, _, _, rng = _batch(4)
    prompts = rng.integers(0, SIZE, (20, policy.PROMPT))
    written = sampler.sample(weights, prompts, rng, sampler.Sampling(temperature=0.8, weight_bits=40), group_size=4)
    rows = policy.features(prompts, written.tokens)[written.mask]
    scored = policy.score(weights, rows, written.tokens[written.mask], temperature=0.8)
    np.testing.assert_allclose(scored.logprobs, written.logprobs[written.mask], atol=1e-6)


def test_group_relative_advantages_match_their_definition_one_group_at_a_time() -> None:
    rng = np.random.default_rng(5)
    rewards, groups = rng.normal(0.0, 1.0, 12), np.array([0, 1, 2] * 4)
    for group in range(3):
        inside = rewards[groups == group]
        expected = (inside - inside.mean()) / (inside.std(ddof=1) + 1e-4)
        np.testing.assert_allclose(group_relative(rewards, groups, scaling="group")[groups == group], expected)
        others = (inside.sum() - inside) / 3
        np.testing.assert_allclose(leave_one_out(rewards, groups)[groups == group], inside - others)


def test_a_group_is_constant_only_when_all_its_rewards_are_the_same_number() -> None:
    rewards = np.array([0.2, 0.2, 0.2, 0.3, np.nan, np.nan])
    assert constant_groups(rewards, np.array([0, 0, 1, 1, 2, 2])).tolist() == [True, True, False, False, False, False]


def test_gae_with_full_trace_is_the_sum_of_what_follows_minus_the_value() -> None:
    rng = np.random.default_rng(6)
    rewards, values = rng.normal(0.0, 1.0, (2, 4)), rng.normal(0.0, 1.0, (2, 4))
    mask = np.array([[True] * 4, [True, True, False, False]])
    rewards[~mask] = 0.0
    advantages, returns = generalized(rewards, values, mask, discount=1.0, trace=1.0)
    following = np.cumsum(rewards[:, ::-1], axis=1)[:, ::-1]
    np.testing.assert_allclose(returns[mask], following[mask])
    np.testing.assert_allclose(advantages[mask], (following - values)[mask])
