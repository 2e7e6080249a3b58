"""The newest rows as a signature sees them, with the kernels' carried state kept out of its sight.

Every array has one entry a row; where a metric was not logged in a row, its last value stands and `fresh` is False, and
no kernel sees the row. The same rows give the same answers however they are cut into chunks.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Protocol

import numpy as np

from rlprobe.doctor.condense import Condensed
from rlprobe.doctor.evidence import blocks, halves, jump, level, rolling, running
from rlprobe.recording.run import BoolArray, FloatArray, IntArray, Manifest, Metadata, Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One metric on the newest rows: its last finite value at each row, and whether that row logged it."""

    values: FloatArray
    fresh: BoolArray


class _Startable(Protocol):
    @classmethod
    def start(cls) -> Any: ...  # the kernel's own state type


class Memory:
    """What the engine carries from chunk to chunk for all signatures of one run."""

    def __init__(self, run: Run, condensed: Condensed) -> None:
        self.run = run
        self.condensed = condensed
        self.states: dict[tuple[str, str], Any] = {}  # kernel states, each known to its kernel only
        self.nodes: dict[tuple[object, ...], _Node] = {}


class _Node:
    """A kernel's answers on one metric for every row so far, shared by all signatures that ask."""

    __slots__ = ("arrays", "done", "fills", "state")

    def __init__(self) -> None:
        self.state: Any = None
        self.arrays: dict[str, FloatArray] = {}
        self.fills: dict[str, float] = {}
        self.done = 0


class Rows:
    """Rows [start, stop) of a run for one signature.

    Args:
        memory: carried state of this run.
        scope: the signature's id; its own kernels' keys live under it.
        limits: threshold name -> value.
        alarm: natural-log evidence at which a statistical signature may fire.
        start, stop: condensed rows.
    """

    def __init__(
        self, memory: Memory, *, scope: str, limits: Mapping[str, float], alarm: float, start: int, stop: int
    ) -> None:
        self._memory = memory
        self._scope = scope
        self._limits = limits
        self.alarm = alarm
        self.start = start
        self.stop = stop

    def __len__(self) -> int:
        return self.stop - self.start

    @property
    def index(self) -> IntArray:
        """(n,) row number of each row since the start of the run."""
        return np.arange(self.start, self.stop)

    @property
    def steps(self) -> IntArray:
        """(n,) trainer step of each row."""
        return self._memory.condensed.steps[self.start : self.stop]

    @property
    def segments(self) -> IntArray:
        """(n,) index of the session that recorded each row; it grows by one where training was resumed."""
        return self._memory.condensed.segments(self.start, self.stop)

    @property
    def manifest(self) -> Manifest:
        """What is known of the run as a whole."""
        return self._memory.run.manifest

    def limit(self, name: str) -> float:
        """The signature's own threshold of that name, as configured."""
        return self._limits[name]

    def setting(self, name: str) -> object:
        """The run's value of a canonical setting, None when unknown."""
        return self.manifest.settings.get(name)

    def number(self, name: str, default: float) -> float:
        """The run's value of a canonical setting as a number, the default when unknown or not a number."""
        value = self.setting(name)
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else default

    def metadata(self, name: str) -> Metadata:
        """What is known of a metric's unit and estimator."""
        return self._memory.run.metadata(name)

    @property
    def every(self) -> BoolArray:
        """(n,) True at every row: for kernels that see each row, whatever was logged."""
        return np.ones(len(self), dtype=bool)

    def exact(self, violated: BoolArray) -> FloatArray:
        """(n,) log evidence of an invariant: +inf where it is violated, -inf elsewhere."""
        return np.where(violated, np.inf, -np.inf)

    def events(self, *kinds: str) -> BoolArray:
        """(n,) rows at which an event of one of the kinds happened."""
        steps = [e.step for e in self._memory.run.events if e.kind in kinds and e.step is not None]
        return np.isin(self.steps, np.array(steps, dtype=np.int64))

    def members(self, family: str) -> tuple[str, ...]:
        """Members of a metric family that the run has so far, in name order."""
        prefix = family + "/"
        return tuple(n.removeprefix(prefix) for n in self._memory.run.metrics if n.startswith(prefix))

    def has(self, name: str) -> bool:
        """Whether the metric has had a finite value by the last row."""
        return bool(len(self)) and not np.isnan(self.series(name).values[-1])

    def series(self, name: str) -> Series:
        """The metric's last finite value at each row (NaN before the first), and the rows that logged one."""
        values = self._shared(name, None)[""]
        raw = self._memory.condensed.values(name)[self.start : self.stop]
        return Series(values=values, fresh=~np.isnan(raw))

    def nonfinite(self, name: str) -> FloatArray:
        """(n,) how many values were logged as NaN or infinite in each row."""
        return self._memory.condensed.nonfinite(name)[self.start : self.stop]

    def observations(self, name: str) -> FloatArray:
        """(n,) finite observations of the metric so far."""
        return self._shared(name, _observation_count)[""]

    def smooth(self, name: str, width: int = 5) -> FloatArray:
        """(n,) median of the metric's last `width` observations."""
        return self._shared(name, rolling.rolling_median, width=width)[""]

    def mean(self, name: str, width: int) -> FloatArray:
        """(n,) mean of the metric's last `width` observations."""
        return self._shared(name, rolling.rolling_mean, width=width)[""]

    def quantile(self, name: str, width: int, q: float) -> FloatArray:
        """(n,) quantile q of the metric's last `width` observations."""
        return self._shared(name, rolling.rolling_quantile, width=width, q=q)[""]

    def ago(self, name: str, lag: int) -> FloatArray:
        """(n,) the metric's value `lag` observations ago; NaN before there are that many."""
        return self._shared(name, rolling.lagged, lag=lag)[""]

    def baseline(self, name: str, count: int = 15) -> running.Baseline:
        """Median and spread of the metric's first `count` observations; NaN before there are that many."""
        out = self._shared(name, running.baseline, count=count)
        return running.Baseline(level=out["level"], spread=out["spread"])

    def highest(self, name: str) -> FloatArray:
        """(n,) largest value of the metric so far."""
        return self._shared(name, running.running_max)[""]

    def lowest(self, name: str) -> FloatArray:
        """(n,) smallest value of the metric so far."""
        return self._shared(name, running.running_min)[""]

    def change(self, name: str, *, part: float = 0.2, minimum: int = 20) -> halves.Change:
        """First part against last part of all observations so far, with the metric's own noise."""
        return halves.Change(**self._shared(name, halves.early_late, part=part, minimum=minimum))

    def fall(self, name: str) -> blocks.Fall:
        """The newest block of all observations so far against the best block before it."""
        return blocks.Fall(**self._shared(name, blocks.block_fall))

    def measured(self, name: str) -> BoolArray:
        """(n,) whether the metric has been anything but exactly zero by that row: a placeholder never has."""
        return (self.highest(name) > 0) | (self.lowest(name) < 0)

    def level(self, key: str, exceeds: BoolArray, fresh: BoolArray) -> FloatArray:
        """(n,) log evidence that the metric has settled beyond a level. Only fresh rows bet."""
        return self._own(key, level.level_evidence, level.LevelState, exceeds, fresh)

    def jump(self, key: str, x: FloatArray, fresh: BoolArray) -> FloatArray:
        """(n,) log evidence that x runs away upwards from its own recent line; give -x for downwards."""
        return self._own(key, jump.jump_evidence, jump.JumpState, x, fresh & np.isfinite(x))

    def carried_max(self, key: str, x: FloatArray) -> FloatArray:
        """(n,) largest x so far."""
        return self._own(key, running.running_max, running.CarryState, x, np.ones(len(x), dtype=bool))

    def carried_min(self, key: str, x: FloatArray) -> FloatArray:
        """(n,) smallest x so far."""
        return self._own(key, running.running_min, running.CarryState, x, np.ones(len(x), dtype=bool))

    def count(self, key: str, mask: BoolArray) -> FloatArray:
        """(n,) how many rows so far were True."""
        return self._own(key, running.running_count, running.CarryState, mask, np.ones(len(mask), dtype=bool))

    def ever(self, key: str, mask: BoolArray) -> BoolArray:
        """(n,) whether any row so far was True."""
        return self.count(key, mask) > 0

    def recent(self, key: str, x: FloatArray | BoolArray, fresh: BoolArray, *, width: int) -> FloatArray:
        """(n,) mean of x over the last `width` fresh rows (of a mask: the fraction of them that is True)."""
        return self._own(key, rolling.rolling_mean, rolling.WindowState, x.astype(np.float64), fresh, width=width)

    def recent_median(self, key: str, x: FloatArray, fresh: BoolArray, *, width: int) -> FloatArray:
        """(n,) median of x over the last `width` fresh rows."""
        return self._own(key, rolling.rolling_median, rolling.WindowState, x, fresh, width=width)

    def earlier(self, key: str, x: FloatArray, fresh: BoolArray, *, lag: int) -> FloatArray:
        """(n,) x as it was `lag` fresh rows ago; NaN before there are that many."""
        return self._own(key, rolling.lagged, rolling.WindowState, x, fresh, lag=lag)

    def latch(self, key: str, mask: BoolArray, *, width: int) -> BoolArray:
        """(n,) whether the mask was True in one of the last `width` rows, this one included."""
        return (
            self._own(key, rolling.rolling_mean, rolling.WindowState, mask.astype(np.float64), _all(mask), width=width)
            > 0
        )

    def streak(self, key: str, mask: BoolArray, fresh: BoolArray, *, gap: int = 2) -> IntArray:
        """(n,) row at which the present streak of True began (surviving `gap` False rows), -1 outside a streak."""
        where = np.flatnonzero(fresh)
        state = self._memory.states.get((self._scope, key), (running.StreakState.start(), -1))
        found, carried = running.streak_start(mask[where], self.start + where, state[0], gap=gap)
        out = _spread(found.astype(np.float64), where, len(mask), float(state[1])).astype(np.int64)
        self._memory.states[(self._scope, key)] = (carried, int(out[-1]) if len(out) else state[1])
        return out

    def _own(
        self,
        key: str,
        kernel: Callable[..., Any],  # (x, state, **parameters) -> (result, state)
        state_type: type[_Startable],
        x: Any,  # FloatArray or BoolArray, as the kernel wants it
        fresh: BoolArray,
        **parameters: object,
    ) -> FloatArray:
        where = np.flatnonzero(fresh)
        state, fill = self._memory.states.get(
            (self._scope, key), (state_type.start(), _INITIAL.get(state_type, np.nan))
        )
        result, state = kernel(x[where], state, **parameters)
        out = _spread(np.asarray(result, dtype=np.float64), where, len(x), fill)
        self._memory.states[(self._scope, key)] = (state, float(out[-1]) if len(out) else fill)
        return out

    def _shared(self, name: str, kernel: Callable[..., Any] | None, **parameters: object) -> dict[str, FloatArray]:
        key = (kernel, name, *sorted(parameters.items()))
        node = self._memory.nodes.get(key)
        if node is None:
            node = self._memory.nodes[key] = _Node()
        if node.done < self.stop:
            self._extend(node, name, kernel, parameters)
        return {field: array[self.start : self.stop] for field, array in node.arrays.items()}

    def _extend(self, node: _Node, name: str, kernel: Callable[..., Any] | None, parameters: dict[str, object]) -> None:
        raw = self._memory.condensed.values(name)[node.done : self.stop]
        where = np.flatnonzero(~np.isnan(raw))
        if kernel is None:
            result: Any = raw[where]
        else:
            if node.state is None:
                node.state = _STATES[kernel].start()
            result, node.state = kernel(raw[where], node.state, **parameters)
        parts = (
            {"": result}
            if isinstance(result, np.ndarray)
            else {f.name: getattr(result, f.name) for f in fields(result)}
        )
        for field, part in parts.items():
            array = node.arrays.get(field)
            if array is None or len(array) < self.stop:
                grown = np.empty(max(self.stop, 64, 2 * (0 if array is None else len(array))))
                if array is not None:
                    grown[: node.done] = array[: node.done]
                node.arrays[field] = array = grown
            spread = _spread(part, where, len(raw), node.fills.get(field, np.nan))
            array[node.done : self.stop] = spread
            if len(spread):
                node.fills[field] = float(spread[-1])
        node.done = self.stop


@dataclass(frozen=True, slots=True, kw_only=True)
class _CountState:
    count: int

    @classmethod
    def start(cls) -> "_CountState":
        return cls(count=0)


def _observation_count(x: FloatArray, state: _CountState) -> tuple[FloatArray, _CountState]:
    return state.count + np.arange(1.0, len(x) + 1.0), _CountState(count=state.count + len(x))


_STATES: dict[Callable[..., Any], type[_Startable]] = {
    rolling.rolling_median: rolling.WindowState,
    rolling.rolling_mean: rolling.WindowState,
    rolling.rolling_quantile: rolling.WindowState,
    rolling.lagged: rolling.WindowState,
    running.baseline: running.BaselineState,
    running.running_max: running.CarryState,
    running.running_min: running.CarryState,
    halves.early_late: halves.MomentsState,
    blocks.block_fall: blocks.HistoryState,
    _observation_count: _CountState,
}
_INITIAL: dict[type[_Startable], float] = {level.LevelState: -np.inf, jump.JumpState: -np.inf}


def _all(mask: BoolArray) -> BoolArray:
    return np.ones(len(mask), dtype=bool)


def _spread(result: FloatArray, where: IntArray, length: int, fill: float) -> FloatArray:
    """Put results at their rows and let each stand until the next one."""
    if len(where) == length:
        return np.asarray(result, dtype=np.float64)
    last = np.full(length, -1, dtype=np.int64)
    last[where] = np.arange(len(where))
    last = np.maximum.accumulate(last) if length else last
    padded = np.concatenate([[fill], result])
    return np.asarray(padded[last + 1], dtype=np.float64)
