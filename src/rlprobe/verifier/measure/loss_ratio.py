"""How the importance ratio enters a loss: a token's own, its sequence's, none, or one of the usual mistakes."""

from dataclasses import dataclass

import numpy as np

from rlprobe.recording.run import BoolArray, FloatArray
from rlprobe.verifier.inputs import loss_input
from rlprobe.verifier.measure.loss import PolicyLoss, harmed, policy_loss, unmasked
from rlprobe.verifier.measure.loss_clip import clip_curve
from rlprobe.verifier.subject import Subject

CORRECT = ("token", "sequence", "sequence_sum", "none")
EXACT = 2e-3  # relative; laws differ by 1e-2 and more on the planted drift


@dataclass(frozen=True, slots=True, kw_only=True)
class RatioLaw:
    """The law that the weights of drifted tokens follow.

    Attributes:
        name: "token", "sequence" (geometric mean), "sequence_sum" (product), "none", a mistake, or "unknown".
        residual: largest relative difference to the law, or to the nearest correct one where unknown.
        nearest: that one.
        values: the input by role.
        weights: relative weights found, [B,T].
    """

    name: str
    residual: float
    nearest: str
    values: dict[str, object]
    weights: FloatArray

    @property
    def correct(self) -> bool:
        """Whether it is one of the known correct ones."""
        return self.name in CORRECT


def ratio_law(subject: Subject) -> RatioLaw | None:
    """The law of the pipeline's loss; None where ratio 1 gives no gradient."""
    found = subject.remember("loss.ratio", lambda: _measured(subject, policy_loss(subject)))
    assert found is None or isinstance(found, RatioLaw)
    if found is not None:
        subject.measured["importance ratio"] = found.name
    return found


def laws(drift: FloatArray, mask: BoolArray, cap: float | None) -> dict[str, FloatArray]:
    """The factor [B,T] on a token's weight under each law, for log-ratios `drift` [B,T]."""
    inside = np.where(mask, drift, 0.0)
    lengths = mask.sum(axis=1, keepdims=True)
    ones = np.ones_like(drift)
    found = {
        "token": np.exp(drift),
        "sequence": np.exp(inside.sum(axis=1, keepdims=True) / lengths) * ones,
        "sequence_sum": np.exp(inside.sum(axis=1, keepdims=True)) * ones,
        "none": ones,
        "token, inverted": np.exp(-drift),
        "token, squared": np.exp(2 * drift),
        "token, square root": np.exp(0.5 * drift),
        "token, without exp": drift,
        "sequence, inverted": np.exp(-inside.sum(axis=1, keepdims=True) / lengths) * ones,
        "sequence, mean over padding": np.exp(inside.mean(axis=1, keepdims=True)) * ones,
        "sequence, padding summed": np.exp(drift.sum(axis=1, keepdims=True) / lengths) * ones,
        "sequence and token": np.exp(drift + inside.sum(axis=1, keepdims=True) / lengths),
        "one ratio for the whole batch": np.exp(inside.sum() / mask.sum()) * ones,
        "ratio of the next row": np.exp(np.roll(drift, 1, axis=0)),
        "ratio of the next token": np.exp(np.roll(drift, -1, axis=1)),
    }
    if cap is not None:
        found["token"] = np.minimum(found["token"], cap)
    return found


def _measured(subject: Subject, loss: PolicyLoss) -> RatioLaw | None:
    rng = subject.rng("loss.ratio")
    lengths = (6, 6, 6, 6) if unmasked(subject) else (6, 3, 5, 2)
    base = loss_input(rng, lengths=lengths, on_policy=True)
    drift = -np.sign(base.advantages)[:, None] * rng.uniform(0.02, 0.15, size=base.logprobs.shape)
    start = loss.weights(base.values())
    if not np.isfinite(start).all() or (np.abs(start[base.mask]) <= loss.slopes.floor).any():
        return None
    values = harmed(base, drift, rng).values()
    relative = np.where(base.mask, loss.weights(values) / np.where(base.mask, start, 1.0), 0.0)
    off = {
        name: _off(relative[base.mask], factor[base.mask])
        for name, factor in laws(drift, base.mask, clip_curve(subject).cap).items()
    }
    name = next((law for law in off if off[law] <= max(EXACT, 10 * loss.tolerance)), "unknown")
    nearest = min(CORRECT, key=lambda law: off[law])
    return RatioLaw(name=name, residual=off[nearest], nearest=nearest, values=values, weights=relative)


def _off(found: FloatArray, expected: FloatArray) -> float:
    return float(np.abs(found / expected - 1).max()) if np.isfinite(found).all() else float("inf")
