"""How fast rows come, and how long their absence must last before a run counts as died."""

import contextlib
from collections import deque
from itertools import islice
from pathlib import Path

import numpy as np

from rlprobe.guardian.memory import RunMemory
from rlprobe.guardian.settings import GuardianSettings
from rlprobe.recording.run import Run

_RECENT = 64  # gaps between rows of which the usual one is the median
_ENOUGH = 3  # gaps before anything is called usual
_LONGEST = 2.0  # times the longest gap so far: an evaluation or a checkpoint may take as long again
_UNKNOWN = 3600.0  # seconds of silence while the usual time between rows is not known
_MOST_FILES = 1000  # of a folder that are asked when they were written
FASTEST = 1e-3  # seconds; closer rows were written together


class Pace:
    """The rhythm of one run's rows, by the rows' own clock where they have one, else by when they were seen.

    Args:
        run: its rows so far; they came before the guardian looked.
        memory: what an earlier guardian knew of the rhythm.
        now: seconds since 1970.
    """

    def __init__(self, run: Run, memory: RunMemory, now: float) -> None:
        self._gaps: deque[float] = deque(maxlen=_RECENT)
        self._longest = 0.0
        self._usual = memory.usual_seconds
        self._rows = 0
        self._last_row = 0.0
        same = memory.rows == run.rows and memory.grown > 0
        self.grown = memory.grown if same else min(now, _written(run) or now)
        earlier = memory.grown if 0 < memory.rows < run.rows else 0.0
        if earlier and not _own_times(run) and self.grown > earlier:
            self._usual = (self.grown - earlier) / (run.rows - memory.rows)
        self.observe(run, self.grown)

    def observe(self, run: Run, now: float) -> None:
        """Take up rows that came since the last call; `now` is when they were seen."""
        if run.rows <= self._rows:
            if run.rows < self._rows:  # training went back
                self._rows, self.grown = run.rows, now
            return
        fresh = run.rows - self._rows
        times = _own_times(run)
        if times:
            seen = run.column("wall_time")[max(0, self._rows - 1) :]
            gaps = np.diff(seen)
            self._take(gaps[np.isfinite(gaps) & (gaps > FASTEST)])
        elif self._rows and now > self._last_row > 0:
            self._take(np.array([(now - self._last_row) / fresh]))
        self._rows, self.grown, self._last_row = run.rows, now, now

    def _take(self, gaps: np.ndarray[tuple[int], np.dtype[np.float64]]) -> None:
        self._gaps.extend(gaps[-_RECENT:].tolist())
        self._longest = max(self._longest, float(gaps.max(initial=0.0)))
        if len(self._gaps) >= _ENOUGH:
            self._usual = float(np.median(self._gaps))

    @property
    def usual(self) -> float:
        """Usual seconds between two rows, 0 while unknown."""
        return self._usual

    def patience(self, settings: GuardianSettings) -> float:
        """Seconds without a row after which the run counts as died."""
        if self._usual <= 0:
            return max(settings.silence_seconds, _UNKNOWN)
        return max(settings.silence_seconds, settings.silence_steps * self._usual, _LONGEST * self._longest)


def _own_times(run: Run) -> bool:
    return run.rows > 0 and run.has("wall_time") and bool(np.isfinite(run.column("wall_time")[-1]))


def _written(run: Run) -> float | None:
    """When the source was last written, as its rows or its files say, whichever is later."""
    times = [float(run.column("wall_time")[-1])] if _own_times(run) else []
    source = Path(run.source)
    with contextlib.suppress(OSError):
        times.append(source.stat().st_mtime)
        inside = islice(source.iterdir(), _MOST_FILES) if source.is_dir() else ()
        times += [file.stat().st_mtime for file in inside if not file.name.startswith(".")]
    return max(times, default=None)
