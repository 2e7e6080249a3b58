"""A value loss as numbers, and where its clip stops the gradient."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rlprobe.recording.run import FloatArray
from rlprobe.verifier.arrays import Values
from rlprobe.verifier.function import Function
from rlprobe.verifier.inputs import mask
from rlprobe.verifier.measure.slopes import Slopes, slopes_of, without_graph
from rlprobe.verifier.subject import Subject, scalar

REACH, POINTS = 4.0, 16  # distance of value from old value, and points on either side
RETURN = 10.0  # distance of the return: far beyond the reach, so that it lies on one side
DEAD = 1e-3  # of the slope at distance 0
HALVINGS = 22
POLICY_ROLES = ("logprobs", "old_logprobs", "ref_logprobs", "sampler_logprobs")


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueLoss:
    """A value loss ready to be measured.

    Attributes:
        function: the user's function.
        slopes: how derivatives by the values are taken.
    """

    function: Function
    slopes: Slopes

    def arguments(self, values: Values) -> dict[str, object]:
        """The arguments that the loss takes; of a loss that is the policy's too, with no advantage for any token."""
        given = dict(values)
        if self.function.slot == "loss":
            shape = np.asarray(values["values"]).shape
            still = {role: np.full(shape, -1.0) for role in POLICY_ROLES}
            given = {**still, "advantages": np.zeros(shape[0]), "entropy": np.zeros(shape), **values}
            given["tool_mask"] = np.ones(shape, dtype=bool)
            given["value_clip"] = given.get("clip")
            given = {role: value for role, value in given.items() if role != "clip" and value is not None}
        return {role: value for role, value in given.items() if self.function.takes(role)}

    @property
    def takes_clip(self) -> bool:
        """Whether the range of values is an argument; the clip of a loss for both is the policy's."""
        return self.function.takes("value_clip" if self.function.slot == "loss" else "clip")

    def value(self, values: Values) -> float:
        """The loss."""
        return scalar(self.function(**self.arguments(values)))

    def slope(self, values: Values) -> FloatArray:
        """Derivative by the values, [B,T]."""
        return self.slopes.slope(self.function, "values", self.arguments(values))

    def close(self, left: FloatArray, right: FloatArray) -> bool:
        """Whether two slopes differ by rounding only."""
        return self.slopes.close(left, right, slack=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueClip:
    """Where the gradient dies as the value leaves the old one.

    Attributes:
        up, down: distance at which a value that moves towards its return, above or below, gets no gradient any more.
        harmful: whether a value that moves away from its return gets none somewhere.
        alive: whether there is a gradient at the old value.
    """

    up: float | None
    down: float | None
    harmful: bool
    alive: bool


def value_loss(subject: Subject) -> ValueLoss:
    """The value loss of the pipeline.

    Raises:
        Unavailable, RaisedError: as for `Subject.function`.
    """
    found = subject.remember("value", lambda: _prepared(subject))
    assert isinstance(found, ValueLoss)
    return found


def near(rng: np.random.Generator, lengths: tuple[int, ...] = (6, 3, 5, 2), tokens: int = 6) -> dict[str, object]:
    """Values within 0.01 of the old ones (inside every clip range), returns up to 1 away, a different one each."""
    shape = (len(lengths), tokens)
    old = rng.normal(size=shape)
    values = old + 0.01 * rng.uniform(-1, 1, size=shape)
    error = rng.uniform(0.2, 1.0, size=shape) * rng.choice([-1.0, 1.0], size=shape)
    return {"values": values, "old_values": old, "returns": values + error, "mask": mask(list(lengths), tokens)}


def value_clip(loss: ValueLoss, settings: Mapping[str, object]) -> ValueClip:
    """The clip edges with some scalar arguments set."""
    grid = np.linspace(-REACH, REACH, 2 * POINTS + 1)
    above, below = (np.abs(_slopes(loss, grid, sign, settings)) for sign in (1.0, -1.0))
    start = min(above[POINTS], below[POINTS])
    if not start > loss.slopes.floor:
        return ValueClip(up=None, down=None, harmful=False, alive=False)
    floor = DEAD * start
    harmful = bool((above[:POINTS] <= floor).any() or (below[POINTS + 1 :] <= floor).any())
    up = _edge(loss, grid[POINTS:], above[POINTS:] > floor, 1.0, floor, settings)
    down = _edge(loss, -grid[: POINTS + 1][::-1], (below[: POINTS + 1] > floor)[::-1], -1.0, floor, settings)
    return ValueClip(up=up, down=down, harmful=harmful, alive=True)


def _slopes(loss: ValueLoss, distances: FloatArray, sign: float, settings: Mapping[str, object]) -> FloatArray:
    """Slope [n] of rows of one token whose return lies far above (+1) or below (-1)."""
    rows = len(distances)
    old = np.full((rows, 3), 0.5)
    values = old.copy()
    values[:, 0] += distances
    return loss.slope(
        {"values": values, "old_values": old, "returns": old + sign * RETURN, "mask": mask([1] * rows, 3), **settings}
    )[:, 0]


def _edge(
    loss: ValueLoss, distances: FloatArray, alive: FloatArray, sign: float, floor: float, settings: Mapping[str, object]
) -> float | None:  # fmt: skip
    """Distance at which the gradient dies, by bisection; None where it lives over the whole reach."""
    dead = np.flatnonzero(~alive.astype(bool))
    if not len(dead):
        return None
    low, high = float(distances[dead[0] - 1]), float(distances[dead[0]])
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        # as many rows as in the scan, so that a mean over rows divides alike
        points = np.full(2 * POINTS + 1, sign * middle)
        living = abs(float(_slopes(loss, points, sign, settings)[0])) > floor
        low, high = (middle, high) if living else (low, middle)
    return (low + high) / 2


def _prepared(subject: Subject) -> ValueLoss:
    inside = subject.pipeline.value_loss is None
    function = subject.function("loss" if inside else "value_loss")
    bare = ValueLoss(function=function, slopes=Slopes(tolerance=0.0, step=1.0, single=False))
    values = bare.arguments(near(subject.rng("value")))
    function = without_graph(function, "values", values)
    return ValueLoss(function=function, slopes=slopes_of(function, "values", values))
