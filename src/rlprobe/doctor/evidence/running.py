"""Carried extremes, counts and first values: linear-time scans over everything seen so far."""

from dataclasses import dataclass

import numpy as np

from rlprobe.doctor.evidence.middle import middle
from rlprobe.recording.run import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class CarryState:
    """One number carried from chunk to chunk."""

    value: float

    @classmethod
    def start(cls) -> "CarryState":
        """Before any observation."""
        return cls(value=np.nan)


def running_max(x: FloatArray, state: CarryState) -> tuple[FloatArray, CarryState]:
    """Largest observation so far; NaN observations are passed over. (n,) in, (n,) out."""
    out = np.fmax.accumulate(np.concatenate([[state.value], x]))[1:]
    return out, CarryState(value=float(out[-1])) if len(out) else state


def running_min(x: FloatArray, state: CarryState) -> tuple[FloatArray, CarryState]:
    """Smallest observation so far; NaN observations are passed over. (n,) in, (n,) out."""
    out = np.fmin.accumulate(np.concatenate([[state.value], x]))[1:]
    return out, CarryState(value=float(out[-1])) if len(out) else state


def running_count(mask: BoolArray, state: CarryState) -> tuple[FloatArray, CarryState]:
    """How many rows so far were True. (n,) in, (n,) float counts out."""
    before = 0.0 if np.isnan(state.value) else state.value
    out = before + np.cumsum(mask, dtype=np.float64)
    return out, CarryState(value=float(out[-1])) if len(out) else state


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineState:
    """The first observations, until there are enough of them."""

    first: FloatArray

    @classmethod
    def start(cls) -> "BaselineState":
        """Before any observation."""
        return cls(first=np.empty(0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """(n,) robust start level and spread (1.4826 MAD, inflated for small samples, at least 0.1 % of the level)."""

    level: FloatArray
    spread: FloatArray


def baseline(x: FloatArray, state: BaselineState, *, count: int) -> tuple[Baseline, BaselineState]:
    """Median and spread of the first `count` observations; NaN at the rows before there are that many.

    Args:
        x: (n,) finite observations, oldest first; n may be 0.
        state: from BaselineState.start() or from the previous chunk.
        count: observations that make the baseline.

    Returns:
        Baseline of (n,) arrays, and the state for the next chunk.
    """
    first = np.concatenate([state.first, x[: max(0, count - len(state.first))]])
    level, spread = np.full(len(x), np.nan), np.full(len(x), np.nan)
    if len(first) == count:
        from_row = max(0, count - len(state.first) - 1) if len(state.first) < count else 0
        usual = float(middle(first))
        width = 1.4826 * float(middle(np.abs(first - usual))) * (1.0 + 2.0 / count)
        level[from_row:] = usual
        spread[from_row:] = max(width, 1e-9 + 1e-3 * abs(usual))
    return Baseline(level=level, spread=spread), BaselineState(first=first)


def first_median(x: FloatArray, state: BaselineState, *, count: int) -> tuple[FloatArray, BaselineState]:
    """(n,) median of the first `count` observations; NaN at the rows before there are that many."""
    found, state = baseline(x, state, count=count)
    return found.level, state


@dataclass(frozen=True, slots=True, kw_only=True)
class StreakState:
    """Observations so far, start row of the current streak (-1 when none) and the observation that was last True."""

    count: int
    since: int
    last_true: int

    @classmethod
    def start(cls) -> "StreakState":
        """Before any observation."""
        return cls(count=0, since=-1, last_true=-(10**9))


def streak_start(marks: IntArray, state: StreakState, *, gap: int) -> tuple[IntArray, StreakState]:
    """First row of the current streak of True observations; a streak survives up to `gap` False ones in a row.

    Args:
        marks: (n,) row number of each True observation, ascending, -1 for each False one, oldest first; n may be 0.
        state: from StreakState.start() or from the previous chunk.
        gap: False observations that a streak survives, at least 0.

    Returns:
        (n,) row at which the streak began, -1 outside a streak, and the state for the next chunk.
    """
    n, mask = len(marks), marks >= 0
    if state.since < 0 and not mask.any():  # also n == 0 of a run without a streak
        return np.full(n, -1), StreakState(count=state.count + n, since=-1, last_true=state.last_true)
    index = state.count + np.arange(n)
    last = np.maximum.accumulate(np.concatenate([[state.last_true], np.where(mask, index, -(10**9))]))
    previous, last = last[:-1], last[1:]
    begins = mask & (index - previous > gap + 1)
    since = np.maximum.accumulate(np.concatenate([[state.since], np.where(begins, marks, -1)]))
    out = np.where(index - last <= gap, since[1:], -1)
    last_true = int(last[-1]) if n else state.last_true
    return out, StreakState(count=state.count + n, since=int(since[-1]), last_true=last_true)
