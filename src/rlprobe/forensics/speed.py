"""Is one run only slower? One factor on the steps of the second run that lays its courses over those of the first."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rlprobe.forensics.alignment import FEWEST
from rlprobe.recording.run import FloatArray, Run

GRID = np.exp(np.linspace(np.log(0.4), np.log(2.5), 61))  # steps of the first run that one of the second is worth
LEAST = 1.3  # a smaller factor is what another seed does
EXPLAINED = 0.7  # fraction of the gap that the factor has to take away
HALF, AGREE = 0.5, 0.75  # so large a fraction of the metrics has to lose so large a fraction of its own gap
COVERED = 0.4  # fraction of the first run that has to have something beside it
CLEAR = 4.0  # variance of a metric's course over that of its noise, from which its shape says anything
MOST = 200  # points of a course
SAME = 0.02  # mean squared gap over the variance of the courses; below it there is nothing to explain


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    """How the second run's progress compares with the first run's.

    Attributes:
        factor: steps of the first run that one step of the second is worth; below 1 the second is slower.
        explained: fraction of the gap between the courses that the factor takes away.
        metrics: metrics whose shape was used.
    """

    factor: float
    explained: float
    metrics: tuple[str, ...]


def speed(ours: Run, theirs: Run, names: Sequence[str]) -> Speed | None:
    """The factor, where it explains most of what differs; None where it does not, or where nothing differs."""
    courses = {name: pair for name in names if (pair := _courses(name, ours, theirs)) is not None}
    if not courses:
        return None
    spreads = [float(np.var(pair[0][1])) + float(np.var(pair[1][1])) for pair in courses.values()]
    gaps = np.array([[_gap(pair, factor) for factor in GRID] for pair in courses.values()])
    gaps /= np.array(spreads)[:, None]
    whole = gaps.mean(axis=0)
    unchanged = len(GRID) // 2
    if np.isnan(whole).all() or not whole[unchanged] > SAME:
        return None
    best = int(np.nanargmin(whole))
    factor, explained = float(GRID[best]), 1.0 - float(whole[best] / whole[unchanged])
    agree = float(np.mean(gaps[:, best] <= (1.0 - HALF) * gaps[:, unchanged]))
    if agree < AGREE or explained < EXPLAINED or max(factor, 1.0 / factor) < LEAST or best in (0, len(GRID) - 1):
        return None
    return Speed(factor=factor, explained=explained, metrics=tuple(courses))


Course = tuple[FloatArray, FloatArray]  # positions from the first step on, and smooth levels


def _courses(name: str, ours: Run, theirs: Run) -> tuple[Course, Course] | None:
    a, b = _course(ours, name), _course(theirs, name)
    return None if a is None or b is None else (a, b)


def _course(run: Run, name: str) -> Course | None:
    """The smooth course of a metric that has one; None for noise and for what moves too little."""
    rows = np.flatnonzero(run.logged(name) & np.isfinite(run.column(name)))
    if len(rows) < FEWEST:
        return None
    values, steps = run.column(name)[rows], run.steps[rows].astype(np.float64)
    if float(values.min()) > 0 and float(values.max()) > 10.0 * float(np.median(values)):
        values = np.log(values)
    width = max(5, len(values) // 15)
    sums = np.concatenate([[0.0], np.cumsum(values)])
    place = np.arange(len(values))
    low, high = np.maximum(0, place - width // 2), np.minimum(len(values), place + width // 2 + 1)
    smooth = (sums[high] - sums[low]) / (high - low)
    noise = float(np.var(values - smooth)) / width
    if float(np.var(smooth)) <= CLEAR * noise * len(values) / width or float(np.ptp(smooth)) == 0.0:
        return None
    thin = np.unique(np.linspace(0, len(values) - 1, min(MOST, len(values))).astype(np.int64))
    return steps[thin] - float(run.steps[0]), smooth[thin]


def _gap(pair: tuple[Course, Course], factor: float) -> float:
    """Mean squared gap where the courses lie side by side; NaN where too little of them does."""
    (x, ours), (y, theirs) = pair
    end = min(float(x[-1]), float(y[-1]) * factor)
    if end < COVERED * float(x[-1]):
        return float("nan")
    inside = x <= end
    beside = np.interp(x[inside], y * factor, theirs)
    return float(np.mean((ours[inside] - beside) ** 2))
