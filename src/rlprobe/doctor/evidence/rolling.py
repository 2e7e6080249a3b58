"""Causal windows: what the last few observations say. Every value uses observations up to its own row only."""

from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from rlprobe.recording.run import FloatArray

_CELLS = 1 << 16  # values sorted at a time: half a megabyte, which stays near the processor


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowState:
    """The newest observations that the next window still needs, oldest first."""

    tail: FloatArray

    @classmethod
    def start(cls) -> "WindowState":
        """Before any observation."""
        return cls(tail=np.empty(0))


def rolling_median(x: FloatArray, state: WindowState, *, width: int) -> tuple[FloatArray, WindowState]:
    """Median of the last `width` observations; of all of them while there are fewer.

    Args:
        x: (n,) observations, oldest first, NaN passed over; n may be 0.
        state: from WindowState.start() or from the previous chunk.
        width: window length in observations, at least 1.

    Returns:
        (n,) medians, and the state for the next chunk.
    """
    return rolling_quantile(x, state, width=width, q=0.5)


def rolling_quantile(x: FloatArray, state: WindowState, *, width: int, q: float) -> tuple[FloatArray, WindowState]:
    """Quantile q (a fraction) of the last `width` observations. Arguments as rolling_median."""
    joined, carried = _joined(x, state, width - 1, np.nan)
    if len(x) == 0:
        return np.empty(0), carried
    windows, out = sliding_window_view(joined, width), np.empty(len(x))
    stop, size = len(x), max(1, _CELLS // width)
    if width == 5 and q == 0.5:
        stop = min(stop, width - 1 - len(state.tail))  # the first windows have gaps
        out[stop:] = _median5(windows[stop:])
    for first in range(0, stop, size):
        part = slice(first, min(stop, first + size))
        out[part] = _quantiles(np.sort(windows[part], axis=1), q)
    return out, carried


def rolling_mean(x: FloatArray, state: WindowState, *, width: int) -> tuple[FloatArray, WindowState]:
    """Mean of the last `width` observations; of all of them while there are fewer. Arguments as rolling_median, but
    NaN makes every window NaN that holds it.
    """
    joined, carried = _joined(x, state, width - 1, 0.0)
    if not joined.any():  # masks of a healthy run are such: nothing was ever wrong
        return np.zeros(len(x)), carried
    seen = np.minimum(len(state.tail) + np.arange(1, len(x) + 1), width) if len(state.tail) < width - 1 else width
    return _sums(joined, width) / seen, carried


def lagged(x: FloatArray, state: WindowState, *, lag: int) -> tuple[FloatArray, WindowState]:
    """The observation `lag` observations ago; NaN before there are that many.

    Args:
        x: (n,) observations, oldest first; n may be 0.
        state: from WindowState.start() or from the previous chunk.
        lag: at least 1.

    Returns:
        (n,) earlier observations, and the state for the next chunk.
    """
    joined, carried = _joined(x, state, lag, np.nan)
    return joined[: len(x)], carried


def _joined(x: FloatArray, state: WindowState, length: int, fill: float) -> tuple[FloatArray, WindowState]:
    """(length + n,) what came before, filled up where there was too little, and x; and the state for the next chunk."""
    missing = length - len(state.tail)
    joined = np.concatenate([np.full(missing, fill), state.tail, x])
    first = max(missing, len(joined) - length)
    return joined, WindowState(tail=joined[first:].copy())


def _sums(joined: FloatArray, width: int) -> FloatArray:
    """Sum of each window, put together from sums over powers of two: no history can blur it, and no cut moves a bit."""
    count = len(joined) - width + 1
    total, taken = np.zeros(count), 0
    power, size = joined, 1
    while True:
        if width & size:
            total += power[taken : taken + count]
            taken += size
        if 2 * size > width:
            return total
        power = power[:-size] + power[size:]
        size *= 2


def _quantiles(ordered: FloatArray, q: float) -> FloatArray:
    """Quantile of each ascending row, NaN at its end left out."""
    at = np.full(len(ordered), q * (ordered.shape[1] - 1))
    gaps = np.flatnonzero(np.isnan(ordered[:, -1]))
    at[gaps] = q * np.maximum(0, ordered.shape[1] - 1 - np.isnan(ordered[gaps]).sum(axis=1))
    low = at.astype(np.int64)
    rows, between = np.arange(len(ordered)), at - low
    out = ordered[rows, low]
    above = np.flatnonzero(between > 0)
    out[above] += between[above] * (ordered[above, low[above] + 1] - out[above])
    return out


def _median5(windows: FloatArray) -> FloatArray:
    """Median of five by a comparison network: twenty times quicker than sorting a row."""
    a, b, c, d, e = (windows[:, i] for i in range(5))
    low, high = np.minimum(a, b), np.maximum(a, b)
    low2, high2 = np.minimum(c, d), np.maximum(c, d)
    f, g = np.maximum(low, low2), np.minimum(high, high2)  # the median is the median of e, f, g
    return np.maximum(np.minimum(f, g), np.minimum(np.maximum(f, g), e))
