"""Where clipping stops the gradient: the weight of a token over its importance ratio, and the edges by bisection.

Rows have one token each, so that a ratio a token and a ratio a sequence are the same.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rlprobe.recording.run import BoolArray, FloatArray
from rlprobe.verifier.inputs import mask
from rlprobe.verifier.measure.loss import PolicyLoss, policy_loss
from rlprobe.verifier.subject import Subject

REACH, POINTS = 3.0, 12  # nats and points on either side of ratio 1: ratios from 0.05 to 20
DEAD = 0.02  # of the weight that the unclipped ratio gives; below, the gradient counts as gone
SOFT = 0.5  # a weight that has faded below this before it dies is a soft gate, not an edge
HALVINGS = 22  # of a step of 0.25 nats: 6e-8, a five-thousandth of the narrowest usual clip (3e-4)
LOGPROB = -4.0  # nats; old log-probs stay below 0 over the whole reach
WIDTH = 3  # columns, of which two are padding


@dataclass(frozen=True, slots=True, kw_only=True)
class ClipCurve:
    """The weight of a token over its ratio, and where it dies.

    Attributes:
        ratios: [2 POINTS + 1] from 0.05 to 20, 1 in the middle.
        positive, negative: weight over its value at ratio 1, for a positive and a negative advantage.
        high: ratio above which a positive advantage gives no gradient any more; None where it always does.
        low: ratio below which a negative advantage gives none.
        harmful_low: ratio below which a positive advantage gives none (no correct clip does that).
        dual: ratio above which a negative advantage gives none (dual clip).
        alive: whether ratio 1 gives a gradient for both signs.
    """

    ratios: FloatArray
    positive: FloatArray
    negative: FloatArray
    high: float | None
    low: float | None
    harmful_low: float | None
    dual: float | None
    alive: bool = True

    @property
    def clipped(self) -> bool:
        """Whether some clip stops the gradient."""
        return any(edge is not None for edge in (self.high, self.low, self.harmful_low, self.dual))

    @property
    def flat(self) -> bool:
        """Whether the ratio plays no part."""
        return bool(np.allclose(self.positive, 1.0, atol=1e-2) and np.allclose(self.negative, 1.0, atol=1e-2))

    @property
    def cap(self) -> float | None:
        """The weight at which the ratio is cut off while the gradient lives on (CISPO); None where it is not."""
        last, before = self.positive[-1], self.positive[-2]
        return float(last) if self.high is None and abs(last - before) <= 1e-2 * abs(last) and last > DEAD else None

    @property
    def told(self) -> str:
        """In words."""
        if self.flat:
            return "no ratio"
        edges = f"{_edge(self.low)} to {_edge(self.high)}"
        capped = f", weight capped at {self.cap:.4g}" if self.cap is not None else ""
        dual = f", dual clip at {self.dual:.4g}" if self.dual is not None else ""
        return (edges if self.low is not None or self.high is not None else "none") + capped + dual


def clip_curve(subject: Subject) -> ClipCurve:
    """The curve of the pipeline's loss with its own settings."""
    found = subject.remember("loss.clip", lambda: measured(policy_loss(subject), {}))
    assert isinstance(found, ClipCurve)
    subject.measured["ratios that get gradient"] = found.told
    return found


def measured(loss: PolicyLoss, settings: Mapping[str, object]) -> ClipCurve:
    """The curve with some scalar arguments set."""
    grid = np.linspace(-REACH, REACH, 2 * POINTS + 1)
    curves = [relative_weights(loss, grid, sign, settings) for sign in (1.0, -1.0)]
    if any(curve is None for curve in curves):
        nothing = np.zeros_like(grid)
        return ClipCurve(
            ratios=np.exp(grid), positive=nothing, negative=nothing,
            high=None, low=None, harmful_low=None, dual=None, alive=False,
        )  # fmt: skip
    positive, negative = (np.asarray(curve) for curve in curves)
    brackets = [_bracket(grid, curve, side) for curve in (positive, negative) for side in (1, -1)]
    signs = np.array([1.0, 1.0, -1.0, -1.0])
    high, harmful_low, dual, low = _bisected(loss, brackets, signs, settings)
    return ClipCurve(
        ratios=np.exp(grid), positive=positive, negative=negative,
        high=high, low=low, harmful_low=harmful_low, dual=dual,
    )  # fmt: skip


def planted(log_ratios: FloatArray, advantages: FloatArray, *, width: int = WIDTH) -> dict[str, object]:
    """One row of one token for each log-ratio; the other columns are padding."""
    rows = len(log_ratios)
    logprobs = np.full((rows, width), LOGPROB)
    old = logprobs.copy()
    old[:, 0] -= log_ratios
    return {
        "logprobs": logprobs, "old_logprobs": old, "ref_logprobs": logprobs.copy(), "advantages": advantages,
        "mask": mask([1] * rows, width),
    }  # fmt: skip


def relative_weights(
    loss: PolicyLoss, log_ratios: FloatArray, sign: float, settings: Mapping[str, object]
) -> FloatArray | None:
    """Weights [n] of tokens with these log-ratios over the weight at ratio 1; None where that is zero."""
    points = np.concatenate([[0.0], log_ratios])
    values = {**planted(points, np.full(len(points), sign), width=_width(loss)), **settings}
    weights = _weights(loss, values, pure=_pure(loss, values))
    if not np.isfinite(weights).all() or abs(weights[0]) <= loss.slopes.floor:
        return None
    return np.asarray(weights[1:] / weights[0])


def _pure(loss: PolicyLoss, values: dict[str, object]) -> bool:
    """Whether the policy term is all that has a slope here, so that nothing need be subtracted."""
    return not loss.penalty_slope(values).any()


def _weights(loss: PolicyLoss, values: dict[str, object], *, pure: bool) -> FloatArray:
    """Weights of the first column, [n]."""
    if not pure:
        return loss.weights(values)[:, 0]
    return np.asarray(-loss.slope(values)[:, 0] / np.asarray(values["advantages"]))


def _width(loss: PolicyLoss) -> int:
    return WIDTH if loss.takes("mask") else 1


def _alive(weights: FloatArray, log_ratios: FloatArray) -> BoolArray:
    return np.abs(weights) > DEAD * np.minimum(1.0, np.exp(log_ratios))


def _bracket(grid: FloatArray, curve: FloatArray, side: int) -> tuple[float, float] | None:
    """The last living and the first dead log-ratio on one side of 0; None where everything lives or it fades out."""
    outward = range(POINTS + side, POINTS + side * (POINTS + 1), side)
    alive = _alive(curve, grid)
    for index in outward:
        if not alive[index]:
            before = index - side
            faded = abs(curve[before]) < SOFT * min(1.0, float(np.exp(grid[before])))
            return None if faded else (float(grid[before]), float(grid[index]))
    return None


def _bisected(
    loss: PolicyLoss, brackets: list[tuple[float, float] | None], signs: FloatArray, settings: Mapping[str, object]
) -> list[float | None]:
    """The ratio at which the gradient dies in each bracket, all brackets at once."""
    living = np.array([bracket[0] if bracket else 0.0 for bracket in brackets])
    dead = np.array([bracket[1] if bracket else 0.0 for bracket in brackets])
    halvings = HALVINGS if any(brackets) else 0
    pure = _pure(loss, {**planted(np.append(dead, 0.0), np.append(signs, 1.0), width=_width(loss)), **settings})
    for _ in range(halvings):
        middle = (living + dead) / 2
        points = planted(np.append(middle, 0.0), np.append(signs, 1.0), width=_width(loss))
        weights = np.abs(_weights(loss, {**points, **settings}, pure=pure))
        alive = _alive(weights[:-1] / max(weights[-1], 1e-300), middle)
        living, dead = np.where(alive, middle, living), np.where(alive, dead, middle)
    edges = np.exp((living + dead) / 2)
    return [float(edge) if bracket else None for edge, bracket in zip(edges, brackets, strict=True)]


def _edge(edge: float | None) -> str:
    return "unbounded" if edge is None else f"{edge:.6g}"
