"""Which tokens weigh how much in a policy loss: the family of its mean, found from on-policy weights of two batches."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from rlprobe.recording.run import BoolArray, FloatArray
from rlprobe.verifier.measure.loss import PolicyLoss, on_policy, policy_loss
from rlprobe.verifier.subject import Subject

Family = Literal[
    "sequence_mean", "sum_of_sequence_means", "token_mean", "constant", "sequence_sum", "token_sum", "unknown"
]
FIRST, SECOND = (6, 3, 5, 2), (4, 6, 6, 3)  # lengths: 16 and 19 tokens in four rows
EXACT = 1e-3  # relative; above every epsilon in a denominator, below one token more or less


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregation:
    """How token terms become one number.

    Attributes:
        family: sequence_mean 1/(B len), token_mean 1/N, constant 1/(B L), sequence_sum 1/B, token_sum 1.
        scale: the weights over those of the family; 1 where it follows it exactly; L for "constant" is 1 / scale.
        weights: of the first batch, [B,T].
        mask: of the first batch.
        nearest: for "unknown", the family that leaves the smallest residual, and that residual.
        residual: largest relative difference to the nearest family.
    """

    family: Family
    scale: float
    weights: FloatArray
    mask: BoolArray
    nearest: str = ""
    residual: float = 0.0

    @property
    def told(self) -> str:
        """In words."""
        names = {
            "sequence_mean": "mean over rows of the mean over a row's tokens",
            "sum_of_sequence_means": "sum over rows of the mean over a row's tokens",
            "token_mean": "mean over all tokens",
            "constant": f"sum over tokens by a constant ({1 / self.scale:.4g} a row)" if self.scale else "constant",
            "sequence_sum": "mean over rows of the sum over a row's tokens",
            "token_sum": "sum over all tokens",
            "unknown": f"none of the known means (nearest {self.nearest}, off by {self.residual:.2g})",
        }
        scaled = self.family not in ("constant", "unknown") and abs(self.scale - 1) > EXACT
        return names[self.family] + (f", times {self.scale:.4g}" if scaled else "")


def aggregation(subject: Subject) -> Aggregation:
    """The family of the policy term's mean."""
    found = subject.remember("loss.aggregation", lambda: _measured(subject, policy_loss(subject)))
    assert isinstance(found, Aggregation)
    subject.measured["loss aggregation"] = found.told
    return found


def _measured(subject: Subject, loss: PolicyLoss) -> Aggregation:
    batches = [on_policy(subject, "loss.aggregation", lengths) for lengths in (FIRST, SECOND)]
    weights = [loss.weights(values) for values in batches]
    masks = [np.asarray(values["mask"], dtype=bool) for values in batches]
    return classified(weights, masks)


def classified(weights: list[FloatArray], masks: list[BoolArray]) -> Aggregation:
    """The family of the weights [B,T] of two batches of as many rows with other lengths."""
    rows = len(masks[0])
    pairs = list(zip(weights, masks, strict=True))
    scales: dict[Family, list[FloatArray]] = {
        "sequence_mean": [(w * m.sum(axis=1, keepdims=True) * rows)[m] for w, m in pairs],
        "token_mean": [w[m] * m.sum() for w, m in pairs],
        "constant": [w[m] * rows for w, m in pairs],
    }
    off = {family: _spread(np.concatenate(found)) for family, found in scales.items()}
    nearest = min(off, key=lambda family: off[family])
    scale = float(np.mean(np.concatenate(scales[nearest])))
    if not off[nearest] <= EXACT:
        return Aggregation(
            family="unknown", scale=scale, weights=weights[0], mask=masks[0], nearest=nearest, residual=off[nearest]
        )
    family, over = _named(nearest, scale, rows), _scale(nearest, scale, rows)
    return Aggregation(family=family, scale=over, weights=weights[0], mask=masks[0])


def length_mistake(weights: FloatArray, mask: BoolArray) -> str:
    """The usual slip in a row's length that gives these weights; "" where none does."""
    lengths = mask.sum(axis=1, keepdims=True)
    slips = {
        "length plus one": lengths + 1,
        "length minus one": np.maximum(lengths - 1, 1),
        "length squared": lengths**2,
    }
    return next((name for name, wrong in slips.items() if _spread((weights * wrong)[mask]) <= EXACT), "")


def _named(family: Family, scale: float, rows: int) -> Family:
    if family == "constant":
        return "sequence_sum" if abs(scale - 1) <= EXACT else "token_sum" if abs(scale / rows - 1) <= EXACT else family
    return "sum_of_sequence_means" if family == "sequence_mean" and abs(scale / rows - 1) <= EXACT else family


def _scale(family: Family, scale: float, rows: int) -> float:
    return scale / rows if _named(family, scale, rows) in ("token_sum", "sum_of_sequence_means") else scale


def _spread(values: FloatArray) -> float:
    """Largest relative distance from the mean; infinite where the mean is zero or something is not finite."""
    middle = float(np.mean(values))
    if not np.isfinite(values).all() or middle == 0:
        return float("inf")
    return float(np.abs(values / middle - 1).max())
