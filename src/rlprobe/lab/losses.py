"""Losses with their derivatives written out: policy gradient with clipping, KL and entropy; value; preference."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from rlprobe.lab.policy import BoolArray, FloatArray

Estimator = Literal["k1", "k2", "k3"]
_MOST = 40.0  # log-ratio beyond which exp would overflow a loss


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyTerms:
    """The three terms of a policy loss over (n,) tokens and what they are made of.

    Attributes:
        policy, kl, entropy: the terms, coefficients included; the loss is their sum.
        d_logprobs, d_entropy: (n,) derivatives of the loss.
        ratio: (n,) importance ratio of policy and old policy.
        low, high: (n,) whether the clip removes the token's gradient at the lower or upper bound.
    """

    policy: float
    kl: float
    entropy: float
    d_logprobs: FloatArray
    d_entropy: FloatArray
    ratio: FloatArray
    low: BoolArray
    high: BoolArray

    @property
    def loss(self) -> float:
        """What is minimised."""
        return self.policy + self.kl + self.entropy


@dataclass(frozen=True, slots=True, kw_only=True)
class Coefficients:
    """Settings of a policy loss: clip range, KL coefficient and estimator, entropy coefficient."""

    clip_low: float = 0.2
    clip_high: float = 0.2
    kl: float = 0.0
    estimator: Estimator = "k3"
    entropy: float = 0.0


def kl_tokens(logprobs: FloatArray, reference: FloatArray, estimator: Estimator) -> tuple[FloatArray, FloatArray]:
    """(n,) estimates of KL(policy, reference) and their derivatives by the policy's log-prob.

    Estimators as named by Schulman (2020): k1 = -d, k2 = d^2 / 2, k3 = exp(d) - d - 1 with d = reference - policy.
    """
    distance = np.clip(reference - logprobs, -_MOST, _MOST)
    match estimator:
        case "k1":
            return -distance, np.ones_like(distance)
        case "k2":
            return distance**2 / 2, -distance
        case _:
            grown = np.exp(distance)
            return grown - distance - 1.0, 1.0 - grown


def policy_terms(
    logprobs: FloatArray,
    entropy: FloatArray,
    *,
    old: FloatArray,
    reference: FloatArray,
    advantages: FloatArray,
    weights: FloatArray,
    coefficients: Coefficients,
) -> PolicyTerms:
    """The clipped surrogate (Schulman et al. 2017) plus KL and entropy terms, each summed with the tokens' weights."""
    ratio = np.exp(np.clip(logprobs - old, -_MOST, _MOST))
    low = (advantages < 0) & (ratio < 1 - coefficients.clip_low)
    high = (advantages > 0) & (ratio > 1 + coefficients.clip_high)
    bounded = np.clip(ratio, 1 - coefficients.clip_low, 1 + coefficients.clip_high)
    surrogate = np.minimum(ratio * advantages, bounded * advantages)
    d_logprobs = -weights * np.where(low | high, 0.0, ratio * advantages)
    kl, d_kl = kl_tokens(logprobs, reference, coefficients.estimator)
    return PolicyTerms(
        policy=float(-(weights * surrogate).sum()),
        kl=coefficients.kl * float((weights * kl).sum()),
        entropy=-coefficients.entropy * float((weights * entropy).sum()),
        d_logprobs=d_logprobs + coefficients.kl * weights * d_kl if coefficients.kl else d_logprobs,
        d_entropy=-coefficients.entropy * weights,
        ratio=ratio,
        low=low,
        high=high,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueTerms:
    """A value loss over (n,) tokens, its derivative by the predictions, and the fraction that was clipped."""

    loss: float
    d_values: FloatArray
    clip_fraction: float


def value_terms(values: FloatArray, *, old: FloatArray, returns: FloatArray, clip: float) -> ValueTerms:
    """Half the mean squared error, the larger of plain and clipped (Schulman et al. 2017, as in OpenAI baselines)."""
    near = old + np.clip(values - old, -clip, clip)
    plain, held = (values - returns) ** 2, (near - returns) ** 2
    held_wins = held > plain
    inside = np.abs(values - old) < clip
    d_values = np.where(held_wins, np.where(inside, near - returns, 0.0), values - returns) / len(values)
    return ValueTerms(
        loss=float(0.5 * np.maximum(plain, held).mean()),
        d_values=d_values,
        clip_fraction=float((held_wins & ~inside).mean()),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PreferenceTerms:
    """A preference loss over (n,) pairs: derivatives by the answers' log-probs, and the implicit rewards."""

    loss: float
    d_chosen: FloatArray
    d_rejected: FloatArray
    chosen_rewards: FloatArray
    rejected_rewards: FloatArray


def preference_terms(
    chosen: FloatArray,
    rejected: FloatArray,
    *,
    reference_chosen: FloatArray,
    reference_rejected: FloatArray,
    beta: float,
) -> PreferenceTerms:
    """DPO (Rafailov et al. 2023): minus log-sigmoid of the margin between the pair's implicit rewards."""
    chosen_rewards = beta * (chosen - reference_chosen)
    rejected_rewards = beta * (rejected - reference_rejected)
    margin = chosen_rewards - rejected_rewards
    pull = beta / (1.0 + np.exp(np.clip(margin, -_MOST, _MOST))) / len(margin)
    return PreferenceTerms(
        loss=float(np.logaddexp(0.0, -margin).mean()),
        d_chosen=-pull,
        d_rejected=pull,
        chosen_rewards=chosen_rewards,
        rejected_rewards=rejected_rewards,
    )
