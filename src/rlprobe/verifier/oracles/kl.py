"""The exact KL of two policies over a vocabulary of six tokens, by summing over all of it."""

import numpy as np

from rlprobe.recording.run import FloatArray

VOCABULARY = 6
PAIRS = 3


def policies() -> list[tuple[FloatArray, FloatArray]]:
    """Three pairs (policy, reference) of distributions over the vocabulary; always the same."""
    rng = np.random.default_rng(19)
    return [(_softmax(rng.normal(size=VOCABULARY)), _softmax(rng.normal(size=VOCABULARY))) for _ in range(PAIRS)]


def expected(probabilities: FloatArray, values: FloatArray) -> float:
    """Expectation of values [V] under probabilities [V]."""
    return float(sum(p * v for p, v in zip(probabilities, values, strict=True)))


def exact(policy: FloatArray, reference: FloatArray) -> float:
    """KL(policy || reference), nats."""
    return expected(policy, np.log(policy / reference))


def slope_of_expectation(policy: FloatArray, slopes: FloatArray) -> FloatArray:
    """Gradient [V] by the policy's logits of sampled terms whose slope by the token's log-prob is `slopes` [V].

    The log-prob of token i has the gradient onehot(i) - policy; tokens are sampled from the policy.
    """
    total = np.zeros(len(policy))
    for token, (probability, slope) in enumerate(zip(policy, slopes, strict=True)):
        total += probability * slope * (np.eye(len(policy))[token] - policy)
    return total


def slope_of_kl(policy: FloatArray, reference: FloatArray) -> FloatArray:
    """Gradient [V] of KL(policy || reference) by the policy's logits."""
    return policy * (np.log(policy / reference) - exact(policy, reference))


def _softmax(logits: FloatArray) -> FloatArray:
    powers = np.exp(logits - logits.max())
    return np.asarray(powers / powers.sum())
