"""Blocks of the whole history: has a metric fallen back from the best level it held?"""

from dataclasses import dataclass

import numpy as np

from rlprobe.recording.run import FloatArray, IntArray

BLOCKS = 8  # blocks that the history is cut into, counted back from the newest observation
SHORTEST = 5  # observations of a block while the history is short
FIRST = 24  # observations before which nothing is said
EARLY = 0.6  # fraction of the history that the noise is measured on, so that a fall does not hide in its own noise
PHI = 0.95  # largest autocorrelation that is allowed for


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryState:
    """Cumulative sums, one entry an observation: x, x^2, t x and squared steps of x, all of x less its first value."""

    origin: float
    last: float
    sums: FloatArray
    squares: FloatArray
    moments: FloatArray
    steps: FloatArray

    @classmethod
    def start(cls) -> "HistoryState":
        """Before any observation."""
        nothing = np.zeros(1)
        return cls(origin=np.nan, last=np.nan, sums=nothing, squares=nothing, moments=nothing, steps=nothing)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fall:
    """What the blocks say at each row.

    Attributes:
        best: (n,) highest mean of a block before the newest one.
        start: (n,) mean of the first observations, one block of them.
        last: (n,) mean of the newest block.
        noise: (n,) standard deviation of one observation.
        z: (n,) (best - last) / standard error, autocorrelation allowed for.
    """

    best: FloatArray
    start: FloatArray
    last: FloatArray
    noise: FloatArray
    z: FloatArray


def block_fall(x: FloatArray, state: HistoryState) -> tuple[Fall, HistoryState]:
    """Compare the newest block of observations with the best of the blocks before it, at every row.

    Null: the metric is a slow course plus AR(1) noise. The noise is that of the early history around its line, and no
    smaller than that within the blocks; its long-run variance widens the standard error by (1 + phi) / (1 - phi). The
    best of several blocks is compared at every row, so z of a healthy run reaches 4 to 5: a threshold lies above that.

    Args:
        x: (n,) finite observations, oldest first; n may be 0.
        state: from HistoryState.start() or from the previous chunk.

    Returns:
        Fall of (n,) arrays, NaN before FIRST observations, and the state for the next chunk.

    Source: phi from squared steps, von Neumann 1941, with Kendall's correction; slow twin in tests/reference/blocks.py.
    """
    known = len(state.sums) - 1
    state = _grown(x, state)
    rows = np.arange(known + 1, len(state.sums))
    m = rows[rows >= FIRST]
    silent = np.full(len(rows) - len(m), np.nan)
    if len(m) == 0:
        return Fall(best=silent, start=silent, last=silent, noise=silent, z=silent), state
    width = np.maximum(SHORTEST, m // BLOCKS)
    last, best, within = _blocks(m, width, state)
    around, phi = _noise((m * EARLY).astype(np.int64), state)
    variance = np.maximum(around * (1.0 + phi) / (1.0 - phi), within)
    floor = 1e-9 * (1.0 + abs(state.origin))  # rounding of a metric that never varies is no evidence
    z = (best - last) / np.maximum(np.sqrt(2.0 * variance / width), floor)
    start = state.sums[width] / width
    noise = np.sqrt(np.maximum(around, within))
    parts = (best + state.origin, start + state.origin, last + state.origin, noise, z)
    best, start, last, noise, z = (np.concatenate([silent, part]) for part in parts)
    return Fall(best=best, start=start, last=last, noise=noise, z=z), state


def _blocks(m: IntArray, width: IntArray, state: HistoryState) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mean of the newest block, highest mean of the others, and mean variance within those, one of each a row."""
    upper, upper_square = state.sums[m], state.squares[m]
    last = best = np.full(len(m), -np.inf)
    within, blocks = np.zeros(len(m)), np.zeros(len(m))
    for block in range(BLOCKS):
        edge = m - (block + 1) * width
        there = edge >= 0
        edge = np.maximum(edge, 0)
        lower, lower_square = state.sums[edge], state.squares[edge]
        mean = (upper - lower) / width
        if block == 0:
            last = mean
        else:
            variance = np.maximum(0.0, (upper_square - lower_square) / width - mean**2) * width / (width - 1)
            best = np.where(there, np.maximum(best, mean), best)
            within += np.where(there, variance, 0.0)
            blocks += there
        upper, upper_square = lower, lower_square
    return last, best, within / blocks


def _noise(count: IntArray, state: HistoryState) -> tuple[FloatArray, FloatArray]:
    """Variance of the first `count` observations around their line, and their autocorrelation, at each row."""
    n = count.astype(np.float64)
    total, centre = state.sums[count], (n + 1.0) / 2.0
    spread = state.squares[count] - total**2 / n
    slope = (state.moments[count] - centre * total) / ((n**3 - n) / 12.0)
    around = np.maximum(0.0, spread - slope**2 * (n**3 - n) / 12.0) / (n - 2.0)
    step = np.maximum(0.0, (state.steps[count] - state.steps[1]) / (n - 1.0) - slope**2) / 2.0
    with np.errstate(divide="ignore", invalid="ignore"):
        phi = np.where(around > 0, 1.0 - step / around, 0.0)
    return around, np.clip(phi + (1.0 + 4.0 * phi) / n, 0.0, PHI)


def _grown(x: FloatArray, state: HistoryState) -> HistoryState:
    if len(x) == 0:
        return state
    origin = float(x[0]) if np.isnan(state.origin) else state.origin
    y = x - origin
    time = np.arange(len(state.sums), len(state.sums) + len(y), dtype=np.float64)
    step = np.diff(np.concatenate([[0.0 if np.isnan(state.last) else state.last], y]))

    def carried(sums: FloatArray, more: FloatArray) -> FloatArray:
        return np.concatenate([sums[:-1], np.cumsum(np.concatenate([sums[-1:], more]))])

    return HistoryState(
        origin=origin,
        last=float(y[-1]),
        sums=carried(state.sums, y),
        squares=carried(state.squares, y * y),
        moments=carried(state.moments, time * y),
        steps=carried(state.steps, step * step),
    )
