"""The samples of one step as columns of numbers, and the few things that every statistic of them needs."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Numbers = NDArray[np.float64] | NDArray[np.int64] | NDArray[np.bool_]
Columns = Mapping[str, list[object]]
Found = dict[str, float]


class Table:
    """Columns as arrays, made on demand."""

    def __init__(self, columns: Columns, rows: int) -> None:
        self.columns = columns
        self.rows = rows
        self._made: dict[str, Floats | None] = {}

    def floats(self, name: str) -> Floats | None:
        """A numeric column, None as NaN; None when there is no such column or it holds no number."""
        if name not in self._made:
            values = self.columns.get(name)
            nothing = values is None or all(value is None for value in values)
            self._made[name] = None if nothing else np.array(values, dtype=np.float64)  # None becomes NaN
        return self._made[name]

    def members(self, prefix: str) -> list[str]:
        """Names of a family's columns."""
        return [name for name in self.columns if name.startswith(prefix)]

    def codes(self) -> Ints | None:
        """(rows,) number of each sample's group, by group id, else by prompt; None when neither is known."""
        for name in ("group", "prompt_id", "prompt"):
            values = self.columns.get(name)
            if values is not None and any(value is not None for value in values):
                return _codes(values)
        return None


def _codes(values: list[object]) -> Ints:
    known: dict[object, int] = {}
    return np.array([known.setdefault(value, len(known)) for value in values], dtype=np.int64)


def finite(values: Floats | None) -> Floats:
    """The values that are finite; none where there is no column."""
    return np.empty(0) if values is None else values[np.isfinite(values)]


def spread(values: Numbers) -> float:
    """Standard deviation (n - 1); NaN for fewer than two values."""
    if len(values) < 2:
        return np.nan
    centred = values - mean(values)
    return float(np.sqrt(np.add.reduce(centred * centred) / (len(values) - 1)))


def mean(values: Numbers) -> float:
    """Mean; NaN of nothing."""
    return float(np.add.reduce(values) / len(values)) if len(values) else np.nan  # what .mean() does, in a fifth of it
