"""One number in the place of many rows, as the registry says that the metric aggregates."""

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from rlprobe.recording.metrics import Aggregation, find
from rlprobe.recording.run import FloatArray

GOES_ON = frozenset({"last", "cumulative"})  # move by themselves, so that the newest row says all
UNSCALED = GOES_ON | {"mode"}  # a mean over rows, or a distance from one, means nothing


def aggregation(name: str) -> Aggregation:
    """How a metric aggregates; a foreign key is taken for a mean."""
    metric = find(name)
    return "mean" if metric is None else metric.aggregation


def level(name: str, values: Sequence[float] | FloatArray) -> float | None:
    """The finite values of some rows as one number; None where there is none.

    Minima and maxima give the extreme, what goes on by itself the newest, the number of a rank the most frequent; the
    others a mean over rows, also a sum or a deviation, which a row has for itself.

    Args:
        name: the metric.
        values: one a row, oldest first.
    """
    rows = np.asarray(values, dtype=np.float64)
    rows = rows[np.isfinite(rows)]
    if not len(rows):
        return None
    how = aggregation(name)
    if how in GOES_ON:
        return float(rows[-1])
    if how in ("min", "max"):
        return float(rows.min() if how == "min" else rows.max())
    if how == "mode":
        found, counts = np.unique(rows, return_counts=True)
        return float(found[counts.argmax()])
    return float(np.clip((rows / len(rows)).sum(), rows.min(), rows.max()))  # divided first: a sum can overflow


def thinned(name: str, values: Sequence[float], count: int) -> Sequence[float]:
    """At most `count` levels of equal stretches, oldest first; NaN for a stretch with a value that is not finite.

    Args:
        name: the metric.
        values: one a row, oldest first.
        count: at least 1.
    """
    if len(values) <= count:
        return values
    ends = [index * len(values) // count for index in range(count + 1)]
    parts = [values[first:stop] for first, stop in pairwise(ends)]
    whole = (level(name, part) if all(map(math.isfinite, part)) else None for part in parts)
    return [math.nan if value is None else value for value in whole]
