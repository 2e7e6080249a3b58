"""What is carried from chunk to chunk: the kernels' states, and the answers that several signatures ask for.

A kernel sees observations alone; its answer is put back at their rows, and stands until the next one.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Protocol

import numpy as np

from rlprobe.doctor.condense import Condensed
from rlprobe.doctor.evidence import blocks, halves, jump, level, persistence, rolling, running
from rlprobe.recording.run import BoolArray, FloatArray, IntArray, Run

_LEAST_ROOM = 64  # rows that a new answer has room for


class _Startable(Protocol):
    @classmethod
    def start(cls) -> Any: ...  # the kernel's own state type


Observations = FloatArray | BoolArray | IntArray
Kernel = Callable[..., Any]  # (x, state, **parameters) -> (result, state); only the kernel knows its types


class _Node:
    """A kernel's answers on one metric for every row so far, shared by all signatures that ask."""

    __slots__ = ("arrays", "done", "fills", "state")

    def __init__(self, state: object) -> None:
        self.state = state
        self.arrays: dict[str, FloatArray] = {}
        self.fills: dict[str, float] = {}
        self.done = 0

    def take(self, name: str, part: FloatArray, where: IntArray | None, stop: int) -> None:
        """Put one field's new answers behind the old ones, up to row `stop`."""
        array = self.arrays.get(name)
        if array is None or len(array) < stop:
            grown = np.empty(stop if array is None else max(stop, 2 * len(array), _LEAST_ROOM))
            if array is not None:
                grown[: self.done] = array[: self.done]
            self.arrays[name] = array = grown
        spread = _spread(part, where, stop - self.done, self.fills.get(name, np.nan))
        array[self.done : stop] = spread
        if len(spread):
            self.fills[name] = float(spread[-1])


class Memory:
    """What the engine carries from chunk to chunk for all signatures of one run."""

    def __init__(self, run: Run, condensed: Condensed) -> None:
        self.run = run
        self.condensed = condensed
        self._own: dict[tuple[str, str], tuple[Any, float]] = {}  # a kernel's state, and its answer at the last row
        self._nodes: dict[tuple[object, ...], _Node] = {}

    def shared(self, name: str, kernel: Kernel, stop: int, **parameters: object) -> dict[str, FloatArray]:
        """A kernel's answers on a metric at all rows before `stop`, field by field; NaN before its first value."""
        key = (kernel, name, *parameters.values())
        node = self._nodes.get(key)
        if node is None:
            if self.condensed.observations(name) == 0:
                return dict.fromkeys(_FIELDS[kernel], self.condensed.nothing)
            node = self._nodes[key] = _Node(_STATES[kernel].start())
        if node.done < stop:
            raw = self.condensed.values(name)[node.done : stop]
            where = _places(~np.isnan(raw))
            result, node.state = kernel(raw if where is None else raw[where], node.state, **parameters)
            for field in _FIELDS[kernel]:
                node.take(field, getattr(result, field) if field else result, where, stop)
            node.done = stop
        return node.arrays

    def own(
        self,
        key: tuple[str, str],
        kernel: Kernel,
        state_type: type[_Startable],
        x: Observations,
        fresh: BoolArray,
        **parameters: object,
    ) -> FloatArray:
        """A kernel's answers on what one signature made of the newest rows; kept under a key of its own."""
        where = _places(fresh)
        state, fill = self._own.get(key) or (state_type.start(), _INITIAL.get(state_type, np.nan))
        result, state = kernel(x if where is None else x[where], state, **parameters)
        out = _spread(result, where, len(x), fill)
        self._own[key] = (state, float(out[-1]) if len(out) else fill)
        return out


@dataclass(frozen=True, slots=True, kw_only=True)
class _CountState:
    count: int

    @classmethod
    def start(cls) -> "_CountState":
        return cls(count=0)


def last_value(x: FloatArray, state: _CountState) -> tuple[FloatArray, _CountState]:
    """The observations as they are."""
    return x, state


def observation_count(x: FloatArray, state: _CountState) -> tuple[FloatArray, _CountState]:
    """How many observations there have been. (n,) in, (n,) out."""
    return state.count + np.arange(1.0, len(x) + 1.0), _CountState(count=state.count + len(x))


def _places(fresh: BoolArray) -> IntArray | None:
    """Where there is an observation; None for everywhere."""
    return None if fresh.all() else np.flatnonzero(fresh)


def _spread(result: FloatArray, where: IntArray | None, length: int, fill: float) -> FloatArray:
    """Put results at their rows and let each stand until the next one."""
    if where is None:
        return np.asarray(result, dtype=np.float64)
    if len(where) == 0:
        return np.full(length, fill)
    last = np.full(length, -1, dtype=np.int64)
    last[where] = np.arange(len(where))
    last = np.maximum.accumulate(last)
    padded = np.concatenate([[fill], result])
    return np.asarray(padded[last + 1], dtype=np.float64)


_STATES: dict[Kernel, type[_Startable]] = {
    last_value: _CountState,
    observation_count: _CountState,
    rolling.rolling_median: rolling.WindowState,
    rolling.rolling_mean: rolling.WindowState,
    rolling.rolling_quantile: rolling.WindowState,
    rolling.lagged: rolling.WindowState,
    running.baseline: running.BaselineState,
    running.running_max: running.CarryState,
    running.running_min: running.CarryState,
    halves.early_late: halves.MomentsState,
    persistence.persistence: persistence.StepsState,
    blocks.block_fall: blocks.HistoryState,
}
_RESULTS: dict[Kernel, type] = {
    running.baseline: running.Baseline,
    halves.early_late: halves.Change,
    blocks.block_fall: blocks.Fall,
}
_FIELDS: dict[Kernel, tuple[str, ...]] = {
    kernel: tuple(field.name for field in fields(_RESULTS[kernel])) if kernel in _RESULTS else ("",)
    for kernel in _STATES
}
_INITIAL: dict[type[_Startable], float] = {
    level.LevelState: -np.inf,
    jump.JumpState: -np.inf,
    running.StreakState: -1.0,
}
