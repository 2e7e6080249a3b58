"""Derivatives of a user's function, by autograd or central differences, with the rounding that each is granted."""

from dataclasses import dataclass, replace

import numpy as np

from rlprobe.recording.run import FloatArray
from rlprobe.verifier.arrays import Values
from rlprobe.verifier.function import STEP, Function, RaisedError

SINGLE_STEP = 1e-2  # the same in float32: near the cube root of its rounding
# Relative error of a slope: (autograd, central differences) in float64 and in float32.
TOLERANCES = {False: (1e-6, 1e-5), True: (3e-4, 3e-2)}
FLOOR = 1e-9  # slopes below are zero; central differences in float64 leave about 1e-10
SINGLE_FLOOR = 3e-5  # the same in float32


@dataclass(frozen=True, slots=True, kw_only=True)
class Slopes:
    """How derivatives of one function are taken.

    Attributes:
        tolerance: relative error that rounding gives a slope.
        step: half the width of a central difference.
        single: whether the function computes in float32.
        autograd: whether the function gives a graph that leads to the argument.
        tensor: whether the argument is a tensor, so that there should be one.
    """

    tolerance: float
    step: float
    single: bool
    autograd: bool = False
    tensor: bool = False

    @property
    def floor(self) -> float:
        """Slopes below are zero."""
        return SINGLE_FLOOR if self.single and not self.autograd else FLOOR

    @property
    def blur(self) -> float:
        """How far a central difference looks beyond its point; 0 for autograd."""
        return 0.0 if self.autograd else 2 * self.step

    def slope(self, function: Function, wrt: str, values: Values) -> FloatArray:
        """Derivative of the result's sum, of the argument's shape."""
        if self.autograd:
            found = function.autograd(wrt, component=None, **values)
            return np.zeros_like(np.asarray(values[wrt])) if found is None else found
        return function.differences(wrt, values, step=self.step)

    def close(self, left: FloatArray, right: FloatArray, *, slack: float = 1.0) -> bool:
        """Whether two slopes differ by rounding only; NaN is equal to nothing."""
        size = max(float(np.abs(left).max(initial=0.0)), float(np.abs(right).max(initial=0.0)))
        gap = float(np.abs(left - right).max(initial=0.0))
        return bool(gap <= self.floor + slack * self.tolerance * size)


def without_graph(function: Function, wrt: str, values: Values) -> Function:
    """The function with numpy arrays, where tensors pass through it only while they need no gradient.

    A module that imports torch for its other functions makes tensors the first form to try; numpy's own functions
    take them and fail only once a gradient is asked for.
    """
    if function.convention is None or function.convention.framework != "torch":
        return function
    try:
        function.autograd(wrt, component=None, **values)
    except RaisedError as error:
        if "numpy()" not in error.told:
            raise
        plain = replace(function, convention=replace(function.convention, framework="numpy"))
        plain(**values)
        return plain
    return function


def slopes_of(function: Function, wrt: str, values: Values) -> Slopes:
    """How this function's derivatives by `wrt` are taken: found out on a valid input."""
    graph = function.autograd(wrt, component=None, **values)
    autograd = graph is not None
    single = function.convention is not None and (function.convention.single or _rounds_to_single(function, values))
    tolerance = TOLERANCES[single][0 if autograd else 1]
    return Slopes(
        tolerance=tolerance, step=SINGLE_STEP if single else STEP, single=single, autograd=autograd,
        tensor=function.takes_tensor(wrt),
    )  # fmt: skip


def _rounds_to_single(function: Function, values: Values) -> bool:
    """Whether every result is a float32 although the arguments are float64."""
    results = []
    for scale in (1.0, 0.9, 0.8):
        moved = {
            role: value * scale if isinstance(value, np.ndarray) and value.dtype.kind == "f" else value
            for role, value in values.items()
        }
        results.append(function(**moved).reshape(-1))
    told = np.concatenate(results)
    told = told[np.isfinite(told) & (told != 0)]
    return bool(len(told)) and bool((told.astype(np.float32).astype(np.float64) == told).all())
