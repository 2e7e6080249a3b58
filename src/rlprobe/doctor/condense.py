"""Rows as the signatures see them: every row up to FULL, then blocks of BLOCK rows.

A million rows then cost like 100,000. A block's edges depend on the row's index alone, so live and post-hoc reading
see the same blocks; a block is judged when it is whole. NaN and infinities are counted before they are averaged away.
"""

import numpy as np

from rlprobe.recording.metrics import find
from rlprobe.recording.run import BoolArray, FloatArray, IntArray, Run

FULL = 32_768  # rows that are judged one by one
BLOCK = 16  # rows a block after that
AT_ONCE = 4096  # blocks that are taken up at once: half a megabyte of rows, which stays near the processor


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
        self._nothing: FloatArray = np.empty(0)
        self._index: IntArray = np.empty(0, dtype=np.int64)

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
        column = self._column(name)
        return self.nothing if column is None else column.values[: self.rows]

    def nonfinite(self, name: str) -> FloatArray:
        """(rows,) how many values of the row or block were logged as NaN or infinite."""
        column = self._column(name)
        return np.zeros(self.rows) if column is None or column.nonfinite is None else column.nonfinite[: self.rows]

    def observations(self, name: str) -> int:
        """How many condensed rows have a finite value of the metric."""
        column = self._column(name)
        return 0 if column is None else column.observations

    def observed(self, name: str) -> tuple[IntArray, FloatArray]:
        """Condensed rows at which the metric has a finite value, ascending, and those values."""
        values = self.values(name)
        if self.observations(name) == self.rows:  # most metrics of most runs; what is told must not cost the whole run
            if len(self._index) < self.rows:
                self._index = np.arange(2 * self.rows)
            return self._index[: self.rows], values
        where = np.flatnonzero(np.isfinite(values))
        return where, values[where]

    @property
    def nothing(self) -> FloatArray:
        """(rows,) NaN: what is known of a metric that has no value yet. One array for all of them."""
        if len(self._nothing) < self.rows:
            self._nothing = np.full(max(self.rows, 2 * len(self._nothing)), np.nan)
            self._nothing.setflags(write=False)
        return self._nothing[: self.rows]

    def _column(self, name: str) -> "_Condensed | None":
        """The metric's condensed rows so far, None for one that the run does not have."""
        column = self._columns.get(name)
        if column is None:
            if not self._run.has(name):
                return None
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
        self.nonfinite: FloatArray | None = None  # until there is one
        self.done = 0
        self.observations = 0

    def extend(self, run: Run, rows: int) -> None:
        if rows <= self.done:
            return
        if rows > len(self.values):
            room = max(rows, 2 * len(self.values), 64) if self.done else rows
            self.values = np.concatenate([self.values[: self.done], np.empty(room - self.done)])
            if self.nonfinite is not None:
                self.nonfinite = np.concatenate([self.nonfinite[: self.done], np.zeros(room - self.done)])
        whole = min(rows, FULL)
        if self.done < whole:
            self._rows(run, slice(self.done, whole))
        first = max(self.done, FULL)
        for row in range(first, rows, AT_ONCE):
            self._blocks(run, row, min(row + AT_ONCE, rows))
        self.observations += int(np.count_nonzero(np.isfinite(self.values[self.done : rows])))
        self.done = rows

    def _rows(self, run: Run, part: slice) -> None:
        values, logged = run.part(self.name, part.start, part.stop)
        self.values[part] = values
        broken = np.flatnonzero(~np.isfinite(values))
        if len(broken):
            self.values[part.start + broken] = np.nan
            self._count(part.start + broken, logged[broken])

    def _blocks(self, run: Run, first: int, stop: int) -> None:
        values, logged = run.part(self.name, FULL + (first - FULL) * BLOCK, FULL + (stop - FULL) * BLOCK)
        with np.errstate(invalid="ignore", over="ignore"):  # infinities of both signs, which are left out below
            total = _halved(values, np.add)
        kind = {"max": np.maximum, "min": np.minimum}.get(self.aggregation)
        self.values[first:stop] = total / BLOCK if kind is None else _halved(values, kind)
        gaps = np.flatnonzero(~np.isfinite(total))  # blocks that lack a finite value: most runs have none
        if len(gaps):
            blocks, known = values.reshape(-1, BLOCK)[gaps], logged.reshape(-1, BLOCK)[gaps]
            finite = np.isfinite(blocks)
            self.values[first + gaps] = _condensed(blocks, finite, self.aggregation)
            self._count(first + gaps, (known & ~finite).sum(axis=1))

    def _count(self, where: IntArray, numbers: IntArray | BoolArray) -> None:
        """Note how many values of those rows were logged and not finite."""
        if self.nonfinite is None and numbers.any():
            self.nonfinite = np.zeros(len(self.values))
        if self.nonfinite is not None:
            self.nonfinite[where] = numbers


def _halved(values: FloatArray, pair: np.ufunc) -> FloatArray:
    """Each block's sum or extreme by pairs of neighbours, so that no cut moves a bit of it."""
    width = BLOCK
    while width > 1:
        values, width = pair(values[0::2], values[1::2]), width // 2
    return values


def _condensed(blocks: FloatArray, finite: BoolArray, aggregation: str) -> FloatArray:
    """(k,) mean or extreme of the finite values of each block, NaN where there is none."""
    count = finite.sum(axis=1)
    if aggregation == "max":
        values = np.where(finite, blocks, -np.inf).max(axis=1)
    elif aggregation == "min":
        values = np.where(finite, blocks, np.inf).min(axis=1)
    else:
        values = np.where(finite, blocks, 0.0).sum(axis=1) / np.maximum(count, 1)
    return np.where(count > 0, values, np.nan)
