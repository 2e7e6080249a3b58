"""Makes a failing input small: fewest rows, then tokens, then vocabulary, then the roundest values that still fail."""

import time
from collections.abc import Callable, Mapping

import numpy as np

from rlprobe.verifier.function import RaisedError
from rlprobe.verifier.roles import roles

PATIENCE_SECONDS = 0.3  # a failure is shown less small rather than late
CUT_ORDER = "BNTV"


def shrink(
    values: Mapping[str, object], slot: str, fails: Callable[[dict[str, object]], bool], *, keep: str = ""
) -> dict[str, object]:
    """A smaller input by role on which `fails` still holds; the input itself where nothing smaller does.

    Args:
        values: arguments by role; arrays are cut along the axes that the roles name.
        slot: whose roles they are.
        fails: whether the violation is still there; an exception of the user's code counts as no.
        keep: axes that must not be cut ("B", "T" ...).
    """
    deadline = time.monotonic() + PATIENCE_SECONDS
    axes = {one.name: one.axes for one in roles(slot)}

    def still(candidate: dict[str, object]) -> bool:
        if time.monotonic() > deadline:
            return False
        try:
            return bool(fails(candidate))
        except (RaisedError, ValueError, IndexError, ZeroDivisionError):
            return False

    smallest = dict(values)
    for axis in CUT_ORDER:
        if axis not in keep:
            smallest = _cut(smallest, axes, axis, still)
    for digits in (2, 1, 0):
        rounder = {role: _rounded(value, digits) for role, value in smallest.items()}
        if still(rounder):
            smallest = rounder
    return smallest


def _cut(
    values: dict[str, object], axes: Mapping[str, str], axis: str, still: Callable[[dict[str, object]], bool]
) -> dict[str, object]:
    index = 0
    while True:
        length = _length(values, axes, axis)
        if length is None or index >= length or length == 1:
            return values
        shorter = {role: _without(value, axes.get(role, ""), axis, index) for role, value in values.items()}
        if still(shorter):
            values = shorter
        else:
            index += 1


def _length(values: Mapping[str, object], axes: Mapping[str, str], axis: str) -> int | None:
    lengths = {
        np.shape(value)[axes[role].index(axis)]
        for role, value in values.items()
        if axis in axes.get(role, "") and isinstance(value, np.ndarray) and value.ndim == len(axes[role])
    }
    return lengths.pop() if len(lengths) == 1 else None


def _without(value: object, own: str, axis: str, index: int) -> object:
    if axis in own and isinstance(value, np.ndarray) and value.ndim == len(own):
        return np.delete(value, index, axis=own.index(axis))
    return value


def _rounded(value: object, digits: int) -> object:
    return np.round(value, digits) + 0.0 if isinstance(value, np.ndarray) and value.dtype.kind == "f" else value
