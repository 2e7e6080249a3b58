"""Runs of one seed: the exact row at which they stop being the same, bit by bit."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rlprobe.forensics.alignment import SCHEDULES, shared
from rlprobe.recording.run import BoolArray, IntArray, Run

FEWEST = 3  # metrics that vary; fewer are equal by accident
_BITS = np.int64


@dataclass(frozen=True, slots=True, kw_only=True)
class Fork:
    """Two runs that begin bit by bit the same.

    Attributes:
        rows: rows that are the same in every shared metric.
        last_same: step of the last such row.
        step: step of the first row that differs; None when all shared rows are the same.
        metrics: metrics that differ in that row, in the runs' order.
        compared: metrics that were compared.
    """

    rows: int
    last_same: int
    step: int | None
    metrics: tuple[str, ...]
    compared: int


def fork(ours: Run, theirs: Run) -> Fork | None:
    """Where two runs of one seed fork; None when they are not the same in their first shared row.

    Compared are the metrics that training decides: no clocks, no memory, no schedules. NaN equals NaN.
    """
    names = shared(ours, theirs)
    rows_a, rows_b = _common(ours, theirs)
    if len(rows_a) == 0 or len(names) < FEWEST:
        return None
    same = np.stack([_same(ours, theirs, name, rows_a, rows_b) for name in names])
    whole: BoolArray = np.asarray(same.all(axis=0))
    count = int(np.argmin(whole)) if not whole.all() else len(whole)
    if count == 0 or not _varied(ours, names, rows_a[:count]):
        return None
    forked = tuple(name for name, each in zip(names, same, strict=True) if count < len(each) and not each[count])
    steps = ours.steps[rows_a]
    return Fork(
        rows=count,
        last_same=int(steps[count - 1]),
        step=int(steps[count]) if count < len(steps) else None,
        metrics=forked,
        compared=len(names),
    )


def schedule_differences(ours: Run, theirs: Run) -> list[tuple[str, int, float, float]]:
    """(metric, first step that differs, our value, theirs) of what is decided in advance, such as learning rates."""
    rows_a, rows_b = _common(ours, theirs)
    out = []
    for name in sorted(SCHEDULES - {"tokens_total", "epoch"}):
        if ours.has(name) and theirs.has(name) and len(rows_a):
            a, b = ours.column(name)[rows_a], theirs.column(name)[rows_b]
            apart = np.flatnonzero(np.abs(a - b) > 1e-6 * np.maximum(np.abs(a), np.abs(b)))
            if len(apart):
                first = int(apart[0])
                out.append((name, int(ours.steps[rows_a[first]]), float(a[first]), float(b[first])))
    return out


def non_finite(runs: Sequence[Run]) -> list[tuple[str, int]]:
    """(metric, first step) of every metric in which one of the runs logged NaN or infinity."""
    found: dict[str, int] = {}
    for run in runs:
        for name in run.metrics:
            bad = np.flatnonzero(run.logged(name) & ~np.isfinite(run.column(name)))
            if len(bad):
                step = int(run.steps[bad[0]])
                found[name] = min(step, found.get(name, step))
    return sorted(found.items(), key=lambda pair: (pair[1], pair[0]))


def _common(ours: Run, theirs: Run) -> tuple[IntArray, IntArray]:
    _, first, second = np.intersect1d(
        ours.steps[: ours.complete], theirs.steps[: theirs.complete], assume_unique=True, return_indices=True
    )
    return first, second


def _same(ours: Run, theirs: Run, name: str, rows_a: IntArray, rows_b: IntArray) -> BoolArray:
    logged_a, logged_b = ours.logged(name)[rows_a], theirs.logged(name)[rows_b]
    a, b = (run.column(name)[rows] for run, rows in ((ours, rows_a), (theirs, rows_b)))
    equal = (a.view(_BITS) == b.view(_BITS)) | (np.isnan(a) & np.isnan(b))
    return np.asarray((logged_a == logged_b) & (equal | ~logged_a))


def _varied(run: Run, names: Sequence[str], rows: IntArray) -> bool:
    """Whether the equal rows hold enough that chance would have made different: values that are no round figures."""
    odd = 0
    for name in names:
        values = run.column(name)[rows]
        finite = values[np.isfinite(values)]
        odd += bool(np.any(finite != np.round(finite, 2)))
    return odd >= FEWEST
