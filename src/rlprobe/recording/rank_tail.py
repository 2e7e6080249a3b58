"""What one rank other than 0 recorded, as the merged run needs it: its times, its parts of groups, its events."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from rlprobe.recording.layout import LOCK, rank_directory
from rlprobe.recording.manifest import UnreadableRecording
from rlprobe.recording.reader import RecordingFeed
from rlprobe.recording.run import Event, FloatArray, IntArray, Reading, State

SECONDS = ("busy_seconds", "step_seconds")  # what a rank's time is read from, best first
PARTS = "group_parts"
_OF_THE_RUN = frozenset(("train_begin", "train_end", "checkpoint", "evaluation", "resume", "closed", "halt", "alert"))


class RankTail:
    """One rank's recording, read on from where the last call stopped.

    Args:
        root: the run's directory.
        number: the rank, 1 or more.

    Raises:
        UnreadableRecording: its directory holds no recording yet, or one of a newer major version.
    """

    def __init__(self, root: Path, number: int) -> None:
        self.number = number
        self.root = rank_directory(root, number)
        self.feed = RecordingFeed(self.root)
        self.seconds: dict[int, float] = {}
        self.parts: dict[int, Mapping[str, object]] = {}
        self.last_step: int | None = None
        self.state: State = "unknown"
        self.reading = Reading()
        self.begins: tuple[float, ...] = ()  # of its segments, seconds since 1970
        self._segment = -1

    def read(self) -> tuple[list[Event], set[int]]:
        """Its new events, and the steps whose time or parts are new."""
        events: list[Event] = []
        fresh: set[int] = set()
        while (batch := self.feed.poll()) is not None:
            if batch.manifest is not None:
                self.state = batch.manifest.state
                self.begins = starts_of(batch.manifest.raw)
            self.reading = batch.reading or self.reading
            if len(batch.steps):
                self._follow(batch.steps, batch.segments)
                fresh |= self._times(batch.steps, batch.columns)
            for event in batch.events:
                if event.kind == PARTS and event.step is not None:
                    self.parts[event.step] = event.fields
                    fresh.add(event.step)
                elif event.kind not in _OF_THE_RUN:
                    events.append(self._told(event))
        return events, fresh

    def heard(self) -> float | None:
        """When its process was last at work, by the clock of the disk; None where that cannot be told."""
        try:
            return (self.root / LOCK).stat().st_mtime
        except OSError:
            return None

    def _follow(self, steps: IntArray, segments: IntArray | None) -> None:
        """A later segment takes back what lies behind its first step."""
        segment = 0 if segments is None else int(segments[0])
        if segment > self._segment:
            self._segment = segment
            first = int(steps[0])
            self.seconds = {step: value for step, value in self.seconds.items() if step < first}
            self.parts = {step: value for step, value in self.parts.items() if step < first}
        self.last_step = int(steps[-1])

    def _times(self, steps: IntArray, columns: Mapping[str, tuple[FloatArray, object]]) -> set[int]:
        values = np.full(len(steps), np.nan)
        for name in reversed(SECONDS):
            if name in columns:
                here = columns[name][0]
                values = np.where(np.isfinite(here), here, values)
        known = np.isfinite(values)
        new = dict(zip(steps[known].tolist(), values[known].tolist(), strict=True))
        changed = {step for step, value in new.items() if self.seconds.get(step) != value}
        self.seconds.update(new)
        return changed

    def _told(self, event: Event) -> Event:
        """The event with its rank; its place in the rank's own order means nothing in the run's."""
        fields = {name: value for name, value in event.fields.items() if name not in ("sequence", "segment")}
        return replace(event, fields={**fields, "rank": self.number})


def opened(root: Path, number: int) -> RankTail | None:
    """The tail of a rank; None while its directory holds nothing that can be read."""
    try:
        return RankTail(root, number)
    except (UnreadableRecording, OSError):
        return None


def starts_of(document: Mapping[str, object]) -> tuple[float, ...]:
    """When each segment of a manifest began, by index; 0 where it does not say."""
    listed = document.get("segments")
    sessions = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    found = {one.get("index"): one.get("started") for one in sessions}
    last = max((index for index in found if isinstance(index, int)), default=-1)
    times = (found.get(index) for index in range(min(last, 1 << 20) + 1))
    return tuple(float(each) if isinstance(each, int | float) else 0.0 for each in times)


def segments_of(begins: tuple[float, ...], of_run: tuple[float, ...]) -> tuple[int, ...]:
    """The run's segment that each of a rank's sessions belongs to.

    Where both have as many, each to its own; else each to the one that began nearest to it, in order.
    """
    if len(begins) == len(of_run) or not of_run:
        return tuple(range(len(begins)))
    nearest = [int(np.argmin([abs(each - started) for each in of_run])) for started in begins]
    return tuple(np.maximum.accumulate(nearest).tolist()) if nearest else ()
