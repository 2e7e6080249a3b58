"""Rows as the signatures see them: every row up to FULL, then blocks of BLOCK rows.

A million rows then cost like 150,000. A block's edges depend on the row's index alone, so live and post-hoc reading
see the same blocks; a block is judged when it is whole. NaN and infinities are counted before they are averaged away.
"""

import numpy as np

from rlprobe.recording.metrics import find
from rlprobe.recording.run import BoolArray, FloatArray, IntArray, Run

FULL = 32_768  # rows that are judged one by one
BLOCK = 8  # rows a block after that


class Condensed:
    """Growing condensed columns of one run.

    Args:
        run: the run; its rows are taken up when `extend` is called.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._columns: dict[str, _Condensed] = {}
        self.rows = 0
        self._taken = 0  # rows of the run that are in the condensed rows
        self._steps: IntArray = np.empty(0, dtype=np.int64)

    def extend(self, stop: int) -> int:
        """Take up the run's rows before `stop`; returns how many condensed rows there are now."""
        whole = FULL + (max(stop, FULL) - FULL) // BLOCK * BLOCK
        self._taken = max(self._taken, min(stop, whole))
        before, self.rows = self.rows, condensed_row(self._taken)
        if self.rows > len(self._steps):
            self._steps = np.concatenate([self._steps, np.zeros(self.rows + 64, dtype=np.int64)])
        new = np.arange(before, self.rows)
        self._steps[before : self.rows] = self._run.steps[_last_run_row(new)]
        return self.rows

    @property
    def steps(self) -> IntArray:
        """(rows,) step of each condensed row: the last step of its block."""
        return self._steps[: self.rows]

    def segments(self, start: int, stop: int) -> IntArray:
        """(stop - start,) segment index of each condensed row: that of its block's last row."""
        return np.asarray(self._run.row_segments[_last_run_row(np.arange(start, stop))])

    def first_step(self, row: int) -> int:
        """Step of the first run row of a condensed row."""
        return int(self._run.steps[row if row < FULL else FULL + (row - FULL) * BLOCK])

    def values(self, name: str) -> FloatArray:
        """(rows,) finite values (the block's mean, or its extreme for a min or max metric), NaN where there is none."""
        return self._column(name).values[: self.rows]

    def nonfinite(self, name: str) -> FloatArray:
        """(rows,) how many values of the row or block were logged as NaN or infinite."""
        return self._column(name).nonfinite[: self.rows]

    def observations(self, name: str) -> int:
        """How many condensed rows have a finite value of the metric."""
        return self._column(name).observations

    def _column(self, name: str) -> "_Condensed":
        column = self._columns.get(name)
        if column is None:
            column = self._columns[name] = _Condensed(name)
        column.extend(self._run, self.rows)
        return column


def _last_run_row(rows: IntArray) -> IntArray:
    return np.where(rows < FULL, rows, FULL + (rows - FULL + 1) * BLOCK - 1)


def condensed_row(row: int) -> int:
    """Condensed row that a run row falls into."""
    return row if row <= FULL else FULL + (row - FULL) // BLOCK


class _Condensed:
    __slots__ = ("aggregation", "done", "name", "nonfinite", "observations", "values")

    def __init__(self, name: str) -> None:
        metric = find(name)
        self.name = name
        self.aggregation = "mean" if metric is None else metric.aggregation
        self.values: FloatArray = np.empty(0)
        self.nonfinite: FloatArray = np.empty(0)
        self.done = 0
        self.observations = 0

    def extend(self, run: Run, rows: int) -> None:
        if rows <= self.done:
            return
        if rows > len(self.values):
            room = max(rows, 2 * len(self.values), 64) - len(self.values)
            self.values = np.concatenate([self.values, np.empty(room)])
            self.nonfinite = np.concatenate([self.nonfinite, np.empty(room)])
        whole = min(rows, FULL)
        if self.done < whole:
            part = slice(self.done, whole)
            values, finite, logged = _finite(run, self.name, part)
            self.values[part] = np.where(finite, values, np.nan)
            self.nonfinite[part] = logged & ~finite
        first = max(self.done, FULL)
        if first < rows:
            source = slice(FULL + (first - FULL) * BLOCK, FULL + (rows - FULL) * BLOCK)
            self._blocks(run, source, slice(first, rows))
        self.observations += int(np.isfinite(self.values[self.done : rows]).sum())
        self.done = rows

    def _blocks(self, run: Run, source: slice, target: slice) -> None:
        flat, flat_finite, flat_logged = _finite(run, self.name, source)
        values = flat.reshape(-1, BLOCK)
        finite, logged = flat_finite.reshape(-1, BLOCK), flat_logged.reshape(-1, BLOCK)
        count = finite.sum(axis=1)
        if self.aggregation == "max":
            block = np.where(finite, values, -np.inf).max(axis=1)
        elif self.aggregation == "min":
            block = np.where(finite, values, np.inf).min(axis=1)
        else:
            block = np.where(finite, values, 0.0).sum(axis=1) / np.maximum(count, 1)
        self.values[target] = np.where(count > 0, block, np.nan)
        self.nonfinite[target] = (logged & ~finite).sum(axis=1)


def _finite(run: Run, name: str, part: slice) -> tuple[FloatArray, BoolArray, BoolArray]:
    if not run.has(name):  # a whole column of nothing would be made anew for every row
        count = part.stop - part.start
        return np.full(count, np.nan), np.zeros(count, dtype=bool), np.zeros(count, dtype=bool)
    values = run.column(name)[part]
    return values, np.isfinite(values), run.logged(name)[part]
