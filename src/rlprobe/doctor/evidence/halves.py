"""Early against late over everything seen so far: has a metric moved beyond its own noise?"""

from dataclasses import dataclass

import numpy as np

from rlprobe.recording.run import FloatArray

ROUNDING = 1e-9  # relative difference of two means that rounding alone can make


@dataclass(frozen=True, slots=True, kw_only=True)
class MomentsState:
    """Cumulative sums of the observations and of their squared successive differences, one entry an observation."""

    sums: FloatArray
    jumps: FloatArray
    last: float

    @classmethod
    def start(cls) -> "MomentsState":
        """Before any observation."""
        return cls(sums=np.zeros(1), jumps=np.zeros(1), last=np.nan)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What the expanding comparison says at each row.

    Attributes:
        early, late: (n,) means of the first and of the last part.
        noise: (n,) standard deviation of one observation around a slowly moving level.
        z: (n,) (late - early) / standard error.
        count: (n,) observations so far.
    """

    early: FloatArray
    late: FloatArray
    noise: FloatArray
    z: FloatArray
    count: FloatArray


def early_late(x: FloatArray, state: MomentsState, *, part: float, minimum: int) -> tuple[Change, MomentsState]:
    """Compare the mean of the first `part` of all observations so far with that of the last `part`, at every row.

    The noise is estimated from successive differences (von Neumann 1941: E[(x_i - x_(i-1))^2] = 2 sigma^2 around a slow
    trend), so a trend does not hide itself; positive autocorrelation makes z too large, which the caller's threshold
    must allow for.

    Args:
        x: (n,) finite observations, oldest first; n may be 0.
        state: from MomentsState.start() or from the previous chunk.
        part: fraction of the observations in each part, in (0, 0.5].
        minimum: observations before which everything is NaN.

    Returns:
        Change of (n,) arrays, and the state for the next chunk.
    """
    before = len(state.sums) - 1
    sums = _continued(state.sums, x)
    steps = np.diff(x, prepend=state.last) ** 2
    steps[:1] = np.where(np.isnan(steps[:1]), 0.0, steps[:1])  # nothing came before the very first
    jumps = _continued(state.jumps, steps)
    count = np.arange(before + 1, len(sums), dtype=np.int64)
    width = np.maximum(1, (count * part).astype(np.int64))
    early = sums[width] / width
    late = (sums[before + 1 :] - sums[count - width]) / width
    noise = np.sqrt(jumps[before + 1 :] / np.maximum(1, count - 1) / 2.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = (late - early) / (noise * np.sqrt(2.0 / width))
    still = np.flatnonzero(noise == 0)  # without noise a metric moved infinitely far or, within rounding, not at all
    gap, size = late[still] - early[still], np.abs(late[still]) + np.abs(early[still])
    z[still] = np.where(np.abs(gap) <= ROUNDING * size, 0.0, np.copysign(np.inf, gap))
    for array in (early, late, noise, z):
        array[: max(0, minimum - 1 - before)] = np.nan
    last = float(x[-1]) if len(x) else state.last
    change = Change(early=early, late=late, noise=noise, z=z, count=count.astype(np.float64))
    return change, MomentsState(sums=sums, jumps=jumps, last=last)


def _continued(sums: FloatArray, x: FloatArray) -> FloatArray:
    """Cumulative sums carried on: added one by one, so that no chunking changes a bit."""
    return np.concatenate([sums[:-1], np.cumsum(np.concatenate([sums[-1:], x]))])
