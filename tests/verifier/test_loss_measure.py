"""What is measured of a loss, on losses whose answer is known."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from rlprobe.verifier.inputs import mask
from rlprobe.verifier.measure.kl_estimators import LOG_RATIOS, MISTAKES, SLOPES, VALUES, bias, fitted
from rlprobe.verifier.measure.loss_clip import clip_curve
from rlprobe.verifier.measure.loss_preference import MARGINS, oracle
from rlprobe.verifier.measure.loss_preference import fitted as preference_fitted
from rlprobe.verifier.measure.loss_ratio import laws, ratio_law
from rlprobe.verifier.measure.loss_weights import classified, length_mistake
from rlprobe.verifier.measure.tiny_policy import tiny_policy
from rlprobe.verifier.oracles.kl import exact as exact_kl
from rlprobe.verifier.oracles.kl import policies, slope_of_expectation, slope_of_kl
from rlprobe.verifier.oracles.policy_gradient import exact as exact_gradient
from rlprobe.verifier.pipeline import Pipeline
from rlprobe.verifier.subject import Subject

LENGTHS = some.lists(some.integers(1, 6), min_size=4, max_size=4).filter(lambda found: len(set(found)) > 1)


def _weights(family, lengths):
    shown = mask(lengths, 6)
    rows, own = len(lengths), shown.sum(1, keepdims=True)
    divisor = {
        "sequence_mean": rows * own, "sum_of_sequence_means": own, "token_mean": shown.sum(), "constant": rows * 37.0,
        "sequence_sum": rows, "token_sum": 1,
    }[family]  # fmt: skip
    return shown / (divisor + np.zeros((rows, 1))), shown


@pytest.mark.parametrize(
    "family", ["sequence_mean", "sum_of_sequence_means", "token_mean", "constant", "sequence_sum", "token_sum"]
)
@given(first=LENGTHS, second=LENGTHS)
def test_a_mean_is_known_by_the_weights_of_two_batches(family, first, second):
    if sum(first) == sum(second):
        return  # a mean over tokens and a constant are the same there
    one, two = _weights(family, first), _weights(family, second)

    assert classified([one[0], two[0]], [one[1], two[1]]).family == family


def test_a_batch_of_weights_that_no_mean_gives_is_unknown():
    shown = mask([6, 3, 5, 2], 6)
    by_root = shown / np.sqrt(shown.sum(1, keepdims=True))
    by_one_more = shown / (shown.sum(1, keepdims=True) + 1)

    assert classified([by_root, by_root], [shown, shown]).family == "unknown"
    assert length_mistake(by_one_more, shown) == "length plus one"
    assert length_mistake(by_root, shown) == ""


def _ppo(low, high, mean=lambda x, m: (x * m).sum() / m.sum()):
    def loss(logprobs, old_logprobs, advantages, mask):
        ratio = np.exp(logprobs - old_logprobs)
        gain = np.minimum(ratio * advantages[:, None], np.clip(ratio, 1 - low, 1 + high) * advantages[:, None])
        return -mean(gain, mask)

    return loss


@settings(max_examples=8)
@given(low=some.floats(3e-4, 0.6), high=some.floats(3e-4, 3.0))
def test_clip_edges_are_found_wherever_they_lie(low, high):
    curve = clip_curve(Subject(Pipeline(loss=_ppo(low, high))))

    assert curve.low == pytest.approx(1 - low, abs=1e-5)
    assert curve.high == pytest.approx(1 + high, abs=1e-5)
    assert curve.dual is curve.harmful_low is curve.cap is None


def test_a_loss_without_a_ratio_has_no_edges():
    curve = clip_curve(
        Subject(Pipeline(loss=lambda logprobs, advantages, mask: -(logprobs * advantages[:, None] * mask).sum()))
    )

    assert curve.flat
    assert not curve.clipped
    assert curve.told == "no ratio"


@pytest.mark.parametrize(
    ("name", "ratio"),
    [
        ("token", lambda drift, m: np.exp(drift)),
        ("sequence", lambda drift, m: np.exp((drift * m).sum(1, keepdims=True) / m.sum(1, keepdims=True))),
        ("sequence_sum", lambda drift, m: np.exp((drift * m).sum(1, keepdims=True))),
        ("token, squared", lambda drift, m: np.exp(2 * drift)),
        ("sequence, mean over padding", lambda drift, m: np.exp((drift * m).mean(1, keepdims=True))),
    ],
)
def test_a_ratio_is_known_by_the_weights_of_drifted_tokens(name, ratio):
    def loss(logprobs, old_logprobs, advantages, mask):
        per_token = ratio(logprobs - old_logprobs, mask) * advantages[:, None] + 0 * logprobs
        return -((per_token * mask).sum(1) / mask.sum(1)).mean()

    found = ratio_law(Subject(Pipeline(loss=loss)))

    assert found is not None
    assert found.name == name


def test_no_two_ratio_laws_agree_on_the_planted_drift():
    rng = np.random.default_rng(0)
    shown = mask([6, 3, 5, 2], 6)
    found = laws(rng.uniform(0.02, 0.15, size=shown.shape), shown, None)
    names = list(found)

    for index, one in enumerate(names):
        for other in names[index + 1 :]:
            assert np.abs(found[one] / found[other] - 1)[shown].max() > 5e-3, (one, other)


@pytest.mark.parametrize("name", VALUES)
@given(scale=some.floats(1e-3, 10))
def test_an_estimator_is_known_by_its_curve_and_scale(name, scale):
    fit = fitted(scale * VALUES[name](LOG_RATIOS), LOG_RATIOS, VALUES)

    assert fit.name == name
    assert fit.scale == pytest.approx(scale)


@pytest.mark.parametrize("name", VALUES)
def test_the_slope_of_an_estimator_is_the_derivative_of_its_value(name):
    step = 1e-6
    slope = (VALUES[name](LOG_RATIOS + step) - VALUES[name](LOG_RATIOS - step)) / (2 * step)

    assert slope == pytest.approx(SLOPES[name](LOG_RATIOS), abs=1e-6)


@pytest.mark.parametrize("name", ["k1", "k3"])
def test_unbiased_estimators_have_the_exact_expectation(name):
    assert bias(lambda p, q: VALUES[name](p - q)) == pytest.approx((1.0, 0.0), abs=1e-12)


@pytest.mark.parametrize("name", MISTAKES)
def test_no_mistake_has_the_exact_expectation(name):
    mean, spread = bias(lambda p, q: MISTAKES[name](p - q))

    assert abs(mean - 1) > 0.01 or spread > 0.01


def test_the_gradient_of_the_exact_kl_is_its_slope_and_that_of_k2_on_the_average():
    for p, q in policies():
        logits, step = np.log(p), 1e-6
        slope = []
        for token in range(len(p)):
            sides = []
            for sign in (1, -1):
                moved = logits + sign * step * np.eye(len(p))[token]
                powers = np.exp(moved)
                sides.append(exact_kl(powers / powers.sum(), q))
            slope.append((sides[0] - sides[1]) / (2 * step))
        assert slope_of_kl(p, q) == pytest.approx(np.array(slope), abs=1e-8)
        assert slope_of_expectation(p, np.log(p / q)) == pytest.approx(slope_of_kl(p, q))


@pytest.mark.parametrize("name", ["sigmoid", "hinge", "ipo", "kto", "kto_alone"])
@given(beta=some.floats(0.05, 2.0), smoothing=some.floats(0.0, 0.4))
def test_a_preference_loss_is_known_by_its_curve(name, beta, smoothing):
    found = preference_fitted(oracle(name, beta, smoothing)(MARGINS))

    assert found.name == name.removesuffix("_alone")
    assert found.beta == pytest.approx(beta, rel=1e-3)
    if name == "sigmoid":
        assert found.smoothing == pytest.approx(smoothing, abs=1e-3)


def test_a_curve_of_no_preference_loss_is_told_so():
    assert preference_fitted(-oracle("sigmoid", 0.1)(MARGINS)).name == ""
    assert preference_fitted(np.full(len(MARGINS), np.nan)).name == ""


@given(size=some.integers(2, 64))
def test_every_group_size_has_a_policy_that_fills_it(size):
    policy = tiny_policy(size)

    assert len(policy.completions) == size == policy.vocabulary**policy.tokens
    assert len({tuple(one) for one in policy.completions}) == size


def test_the_exact_policy_gradient_is_the_slope_of_the_expected_reward():
    policy = tiny_policy(9)
    rewards = np.random.default_rng(3).normal(size=9)

    def expected_reward(logits):
        probabilities = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
        chances = [np.prod([probabilities[t, token] for t, token in enumerate(one)]) for one in policy.completions]
        return float(np.dot(chances, rewards))

    found, step = exact_gradient(policy.completions, rewards, policy.vocabulary), 1e-6
    for index in np.ndindex(*found.shape):
        moved = np.zeros(found.shape)
        moved[index] = step
        assert found[index] == pytest.approx((expected_reward(moved) - expected_reward(-moved)) / (2 * step), abs=1e-8)
