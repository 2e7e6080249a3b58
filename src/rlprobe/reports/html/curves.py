"""Series cut down to what a chart can show: smallest and largest value of every bucket stay, so no spike is lost."""

from dataclasses import dataclass

import numpy as np

from rlprobe.recording.run import BoolArray, FloatArray, IntArray
from rlprobe.reports.levels import UNSCALED, aggregation

MOST_NOT_FINITE = 200  # marks of NaN and infinity on one curve; the count beside them is whole


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """One metric as a line.

    Attributes:
        name: the metric.
        steps, values: (m,) the points, all finite, in time order.
        middles, means: (b,) middle step and mean of every bucket, for smoothing; empty where the points are the whole
            series, or where a mean over rows means nothing.
        rows: finite values of the whole series.
        smooth: whether a mean over rows means something.
        not_finite: steps at which NaN or an infinity was logged, the first ones.
        not_finite_count: how many there are in all.
    """

    name: str
    steps: IntArray
    values: FloatArray
    middles: IntArray
    means: FloatArray
    rows: int
    smooth: bool = True
    not_finite: tuple[int, ...] = ()
    not_finite_count: int = 0

    @property
    def constant(self) -> float | None:
        """The value of a curve that never changes, None of any other and of one that was NaN."""
        if self.not_finite_count or not len(self.values) or (self.values != self.values[0]).any():
            return None
        return float(self.values[0])


def curve(name: str, steps: IntArray, values: FloatArray, logged: BoolArray, buckets: int) -> Curve:
    """A metric's logged values as a curve of at most 2 * buckets + 2 points.

    Args:
        name: the metric.
        steps, values, logged: (n,) the run's rows.
        buckets: equal stretches of rows, at least 1.
    """
    finite = logged & np.isfinite(values)
    bad = steps[logged & ~finite]
    x, y = steps[finite], values[finite]
    kept = extremes(y, buckets)
    smooth = aggregation(name) not in UNSCALED
    middles, means = averages(x, y, buckets) if smooth and len(kept) < len(y) else (x[:0], y[:0])
    return Curve(
        name=name,
        steps=x[kept],
        values=y[kept],
        middles=middles,
        means=means,
        rows=len(y),
        smooth=smooth,
        not_finite=tuple(bad[:MOST_NOT_FINITE].tolist()),
        not_finite_count=len(bad),
    )


def extremes(values: FloatArray, buckets: int) -> IntArray:
    """Indices of the smallest and the largest value of every bucket, of the first and of the last value, ascending.

    Args:
        values: (n,) finite.
        buckets: at least 1. A series of at most 2 * buckets values keeps them all.
    """
    count = len(values)
    if count <= 2 * buckets:
        return np.arange(count)
    folded = _folded(values, buckets)
    first = np.arange(len(folded)) * folded.shape[1]
    picked = np.concatenate([first + folded.argmin(axis=1), first + folded.argmax(axis=1), [0, count - 1]])
    return np.unique(np.minimum(picked, count - 1))


def averages(steps: IntArray, values: FloatArray, buckets: int) -> tuple[IntArray, FloatArray]:
    """Middle step and mean value of every bucket.

    Values are divided before they are added: the sum of two of the largest floats is no float.
    """
    width = -(-len(values) // buckets)
    starts = np.arange(0, len(values), width)
    stops = np.minimum(starts + width, len(values))
    scaled = np.add.reduceat(values / width, starts)
    with np.errstate(over="ignore"):  # rounding can carry the mean of the largest floats beyond them
        mean = scaled * (width / (stops - starts))
    return steps[(starts + stops - 1) // 2], np.clip(mean, -np.finfo(float).max, np.finfo(float).max)


def _folded(values: FloatArray, buckets: int) -> FloatArray:
    """(buckets, width) the values, the last bucket filled up with the last value."""
    width = -(-len(values) // buckets)
    rows = -(-len(values) // width)
    return np.concatenate([values, np.full(rows * width - len(values), values[-1])]).reshape(rows, width)
