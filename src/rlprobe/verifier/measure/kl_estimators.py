"""The sampled KL estimators as curves over the log-ratio, and which of them a measured curve is.

d = log p - log q of a sampled token, p the policy, q the reference (Schulman 2020, "Approximating KL divergence").
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from rlprobe.recording.run import FloatArray
from rlprobe.verifier.oracles.kl import expected, policies

Curve = Callable[[FloatArray], FloatArray]
LOG_RATIOS = np.array([-1.5, -0.9, -0.4, -0.1, 0.1, 0.5, 1.0, 1.4])  # nats; where estimators differ by 10 % and more
EXACT = 1e-3  # relative to the largest value of the curve
VALUES: Mapping[str, Curve] = {
    "k1": lambda d: d,
    "k2": lambda d: d**2 / 2,
    "k3": lambda d: np.exp(-d) + d - 1,
    "abs": np.abs,
}
SLOPES: Mapping[str, Curve] = {
    "k1": np.ones_like,
    "k2": lambda d: d,
    "k3": lambda d: 1 - np.exp(-d),
    "abs": np.sign,
    "k1 times the ratio": lambda d: d + 1,
    "k2 times the ratio": lambda d: d**2 / 2 + d,
}
# What the slip gives instead; the curve of the value at a token.
MISTAKES: Mapping[str, Curve] = {
    "k1, policy and reference exchanged": lambda d: -d,
    "k3, policy and reference exchanged": lambda d: np.exp(d) - d - 1,
    "k3 negated": lambda d: 1 - d - np.exp(-d),
    "k2 negated": lambda d: -(d**2) / 2,
    "k3 without the -1": lambda d: np.exp(-d) + d,
    "k3 without its linear term": lambda d: np.exp(-d) - 1,
    "k3 with its linear term subtracted": lambda d: np.exp(-d) - d - 1,
}
BIASED = ("k2", "abs")  # by definition: their expectation is not the KL


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """A curve that is `scale` times a named one.

    Attributes:
        name: of the estimator or mistake; "" where no curve fits.
        scale: the factor.
        residual: largest difference to the nearest correct one, over the largest value.
        nearest: that one.
    """

    name: str
    scale: float
    residual: float
    nearest: str


def fitted(found: FloatArray, log_ratios: FloatArray, curves: Mapping[str, Curve]) -> Fit:
    """The curve that the measured one is a multiple of."""
    fits = {name: _least_squares(found, curve(log_ratios)) for name, curve in curves.items()}
    nearest = min(fits, key=lambda name: fits[name][1])
    scale, residual = fits[nearest]
    return Fit(name=nearest if residual <= EXACT else "", scale=scale, residual=residual, nearest=nearest)


def bias(estimate: Callable[[FloatArray, FloatArray], FloatArray]) -> tuple[float, float]:
    """Expectation of an estimator over its exact KL on three pairs of policies: mean of the quotients, their spread.

    Args:
        estimate: (log p [V], log q [V]) -> estimate a token [V].
    """
    quotients = []
    for p, q in policies():
        found, exact = expected(p, estimate(np.log(p), np.log(q))), expected(p, np.log(p / q))
        quotients.append(found / exact)
    return float(np.mean(quotients)), float(np.ptp(quotients))


def _least_squares(found: FloatArray, curve: FloatArray) -> tuple[float, float]:
    size = float(np.abs(found).max(initial=0.0))
    if not np.isfinite(found).all() or size == 0:
        return 0.0, float("inf")
    scale = float(found @ curve / (curve @ curve))
    return scale, float(np.abs(found - scale * curve).max()) / size
