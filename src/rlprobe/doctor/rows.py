"""The newest rows as a signature sees them, with the kernels' carried state kept out of its sight.

Every array has one entry a row; where a metric was not logged in a row, its last value stands and `fresh` is False, and
no kernel sees the row. The same rows give the same answers however they are cut into chunks.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rlprobe.doctor.evidence import blocks, halves, jump, level, persistence, rolling, running
from rlprobe.doctor.memory import Kernel, Memory, last_value, observation_count
from rlprobe.recording.run import BoolArray, FloatArray, IntArray, Manifest, Metadata


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One metric on the newest rows: its last finite value at each row, and whether that row logged it."""

    values: FloatArray
    fresh: BoolArray


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
        logged = self._memory.condensed.values(name)[self.start : self.stop]
        fresh = ~np.isnan(logged)
        return Series(values=logged if fresh.all() else self._shared(name, last_value)[""], fresh=fresh)

    def nonfinite(self, name: str) -> FloatArray:
        """(n,) how many values were logged as NaN or infinite in each row."""
        return self._memory.condensed.nonfinite(name)[self.start : self.stop]

    def observations(self, name: str) -> FloatArray:
        """(n,) finite observations of the metric so far."""
        return self._shared(name, observation_count)[""]

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

    def persistence(self, name: str) -> FloatArray:
        """(n,) lag-one autocorrelation of the metric's noise so far, as far as it is beyond chance."""
        return self._shared(name, persistence.persistence)[""]

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
        return self._own(key, running.running_max, running.CarryState, x, _all(x))

    def carried_min(self, key: str, x: FloatArray) -> FloatArray:
        """(n,) smallest x so far."""
        return self._own(key, running.running_min, running.CarryState, x, _all(x))

    def count(self, key: str, mask: BoolArray) -> FloatArray:
        """(n,) how many rows so far were True."""
        return self._own(key, running.running_count, running.CarryState, mask, _all(mask))

    def ever(self, key: str, mask: BoolArray) -> BoolArray:
        """(n,) whether any row so far was True."""
        return self.count(key, mask) > 0

    def first(self, key: str, x: FloatArray, fresh: BoolArray, *, count: int) -> FloatArray:
        """(n,) median of x over the first `count` fresh rows; NaN before there are that many."""
        return self._own(key, running.first_median, running.BaselineState, x, fresh, count=count)

    def recent(self, key: str, x: FloatArray | BoolArray, fresh: BoolArray, *, width: int) -> FloatArray:
        """(n,) mean of x over the last `width` fresh rows (of a mask: the fraction of them that is True)."""
        return self._own(key, rolling.rolling_mean, rolling.WindowState, x.astype(np.float64), fresh, width=width)

    def straying(self, key: str, x: FloatArray, fresh: BoolArray, *, width: int) -> FloatArray:
        """(n,) how far the mean of x over `width` fresh rows strays because its noise repeats itself, NaN at first."""
        return self._own(key, persistence.straying, persistence.StepsState, x, fresh, width=width)

    def recent_median(self, key: str, x: FloatArray, fresh: BoolArray, *, width: int) -> FloatArray:
        """(n,) median of x over the last `width` fresh rows."""
        return self._own(key, rolling.rolling_median, rolling.WindowState, x, fresh, width=width)

    def earlier(self, key: str, x: FloatArray | BoolArray, fresh: BoolArray, *, lag: int) -> FloatArray:
        """(n,) x as it was `lag` fresh rows ago; NaN before there are that many."""
        return self._own(key, rolling.lagged, rolling.WindowState, x, fresh, lag=lag)

    def latch(self, key: str, mask: BoolArray, *, width: int) -> BoolArray:
        """(n,) whether the mask was True in one of the last `width` rows, this one included."""
        return self.recent(key, mask, _all(mask), width=width) > 0

    def streak(self, key: str, mask: BoolArray, fresh: BoolArray, *, gap: int = 2) -> IntArray:
        """(n,) row at which the present streak of True began (surviving `gap` False rows), -1 outside a streak."""
        marks = np.where(mask, self.index, -1)
        return self._own(key, running.streak_start, running.StreakState, marks, fresh, gap=gap).astype(np.int64)

    def _own(
        self,
        key: str,
        kernel: Kernel,
        state: type,
        x: FloatArray | BoolArray | IntArray,
        fresh: BoolArray,
        **parameters: int,
    ) -> FloatArray:
        return self._memory.own((self._scope, key), kernel, state, x, fresh, **parameters)

    def _shared(self, name: str, kernel: Kernel, **parameters: float) -> dict[str, FloatArray]:
        """The kernel's answers on these rows, field by field."""
        whole = self._memory.shared(name, kernel, self.stop, **parameters)
        return {field: array[self.start : self.stop] for field, array in whole.items()}


def _all(x: FloatArray | BoolArray) -> BoolArray:
    return np.ones(len(x), dtype=bool)
