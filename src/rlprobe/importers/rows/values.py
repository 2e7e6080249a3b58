"""One logged value: a number, a NaN spelled in some way, nothing, or not a number at all."""

import re
from typing import Final

import numpy as np
from numpy.typing import NDArray

from rlprobe.recording.run import FloatArray

ABSENT: Final = 0  # nothing was logged
NUMBER: Final = 1  # a number, NaN and infinities included
NULL: Final = 2  # null or an empty cell: NaN for some writers, nothing for others; the table decides
BAD: Final = 3  # text or a container where a number belongs

_ABSENT_TEXT = frozenset({"no log", "n/a", "-", "none logged"})
_NULL_TEXT = frozenset({"", "none", "null"})
_WRAPPED = re.compile(r"(?:[\w.]+)\(\s*([-+]?[\w.]+(?:[-+]\d+)?)\s*(?:,[^()]*)?\)", re.ASCII)
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?%?|[-+]?(?:nan|inf|infinity)", re.ASCII | re.IGNORECASE)
_MAX_TEXT = 80  # characters; no number is longer

State = int


def number(value: object) -> tuple[float, State]:
    """The float that a logged value stands for, and what kind of value it was.

    Takes Python numbers, their text ("0.5", "12%", "nan", "-Infinity"), and the reprs of array libraries
    ("np.float64(0.5)", "tensor(nan, device='cuda:0')"). A list of one number is that number.
    """
    if type(value) is float:
        return value, NUMBER
    if isinstance(value, bool | int):
        try:
            return float(value), NUMBER
        except OverflowError:
            return (float("inf") if value > 0 else float("-inf")), NUMBER
    if value is None:
        return float("nan"), NULL
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], int | float):
        return number(value[0])
    return float("nan"), BAD


def _text(text: str) -> tuple[float, State]:
    if len(text) > _MAX_TEXT:
        return float("nan"), BAD
    text = text.strip()
    if (lower := text.lower()) in _NULL_TEXT:
        return float("nan"), NULL
    if lower in _ABSENT_TEXT:
        return float("nan"), ABSENT
    if (wrapped := _WRAPPED.fullmatch(text)) is not None:
        text = wrapped.group(1)
    if _NUMBER.fullmatch(text) is None:
        return float("nan"), BAD
    if text.endswith("%"):
        return float(text[:-1]) / 100, NUMBER
    return float(text), NUMBER


def column(values: tuple[object, ...]) -> tuple[FloatArray, NDArray[np.uint8]]:
    """(n,) floats and (n,) states of the values of one column."""
    numbers = _all_numbers(values)
    if numbers is not None:
        return numbers, np.full(len(values), NUMBER, dtype=np.uint8)
    pairs = [number(value) for value in values]
    floats = np.array([pair[0] for pair in pairs], dtype=np.float64)
    return floats, np.array([pair[1] for pair in pairs], dtype=np.uint8)


def _all_numbers(values: tuple[object, ...]) -> FloatArray | None:
    """The floats of a column that holds plain numbers only, or only their text; None for any other."""
    types = set(map(type, values))
    try:
        if types <= {float, int}:
            return np.array(values, dtype=np.float64)
        if types == {str} and (joined := "".join(values)).isascii() and "_" not in joined:  # type: ignore[arg-type]  # all are str
            return np.array(list(map(float, values)), dtype=np.float64)  # type: ignore[arg-type]  # all are str
    except (OverflowError, ValueError):
        pass  # an integer beyond a float's range, or text that is no number: value by value
    return None
