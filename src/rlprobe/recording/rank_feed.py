"""A recording of several ranks as one feed: scalars of rank 0, samples and events of all, the times of all compared.

A run of one process passes through as it is. Rank 0's rows wait a moment for the other ranks' times while the run goes
on; a value that comes later still has every row delivered anew, so that live and afterwards the same is read.
"""

import contextlib
import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from rlprobe.recording.columns import NO_ROWS
from rlprobe.recording.files import rank_folders
from rlprobe.recording.rank_rows import enriched
from rlprobe.recording.rank_states import with_ranks, world_of
from rlprobe.recording.rank_tail import PARTS, RankTail, opened, starts_of
from rlprobe.recording.reader import RecordingFeed
from rlprobe.recording.run import Batch, Event, Manifest, Reading, Samples

if TYPE_CHECKING:
    from rlprobe.recording.sample_blocks import SampleBlock

GRACE = 2.0  # seconds that rows wait for the times of ranks that are at work
_MOST = 4096  # ranks that are read
_ANEW_EVERY = 10.0  # seconds between two deliveries of everything, at least


class RanksFeed:
    """What all ranks of a run recorded, live or finished.

    Args:
        path: the run's directory.
        clock: seconds; only differences count.

    Raises:
        UnreadableRecording: there is no recording, or one of a newer major version.
    """

    def __init__(self, path: str | Path, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._root = Path(path)
        self._own = RecordingFeed(path)
        self.source = self._own.source
        self._clock = clock
        self._tails: dict[int, RankTail] = {}
        self._parts: dict[int, dict[str, object]] = {}  # rank 0's own, by step
        self._waiting: deque[tuple[Batch, float]] = deque()
        self._ready: deque[Batch] = deque()
        self._manifest = Manifest()
        self._own_reading = self._reading = Reading()
        self._told_reading: Reading | None = None
        self._last_step: int | None = None
        self._delivered: int | None = None  # last step that a row was delivered of
        self._started = self._revising = False
        self._events = 0  # of rank 0 that were taken in
        self._anew = float("-inf")

    @property
    def ranks(self) -> tuple[int, ...]:
        """The ranks that recorded, rank 0 (the run itself) first."""
        return self._own.ranks

    def poll(self) -> Batch | None:
        """The rows since the last poll, or None when there is nothing new."""
        if not self._ready:
            self._read()
        return self._ready.popleft() if self._ready else None

    def samples(self, *, step: int | None, columns: tuple[str, ...] | None) -> Samples:
        """Sample rows of all ranks in ascending steps, rank 0's first in each; `rank` says whose a row is."""
        if not self._others():
            return self._own.samples(step=step, columns=columns)
        from rlprobe.recording.rank_samples import merged_samples  # a diagnosis of rows does without

        feeds = {0: self._own} | {number: tail.feed for number, tail in self._tails.items()}
        return merged_samples(feeds, self._begins(), step=step, columns=columns)

    def sample_blocks(self) -> "list[SampleBlock]":
        """Sample rows of all ranks as Arrow blocks."""
        blocks = self._own.sample_blocks()
        if not self._others():
            return blocks
        from rlprobe.recording.rank_samples import RankBlock  # a diagnosis of rows does without

        feeds = {0: self._own} | {number: tail.feed for number, tail in self._tails.items()}
        return [RankBlock(block, number) for number, feed in feeds.items() for block in feed.sample_blocks()]

    def _begins(self) -> dict[int, tuple[float, ...]]:
        return {0: starts_of(self._manifest.raw)} | {number: tail.begins for number, tail in self._tails.items()}

    def _several(self) -> bool:
        """Whether other ranks may have recorded: a run of one process is not asked at every poll."""
        return bool(self._tails) or not self._started or world_of(self._manifest)[0] > 1

    def _others(self) -> bool:
        """Whether other ranks recorded; opens the tails of those that are new."""
        with contextlib.suppress(OSError):
            for number in islice(rank_folders(self._root), _MOST):
                if number not in self._tails and (tail := opened(self._root, number)) is not None:
                    self._tails[number] = tail
        return bool(self._tails)

    def _read(self) -> None:
        """Take in what is new of every rank, and make ready what need not wait."""
        events: list[Event] = []
        while (batch := self._own.poll()) is not None:
            self._take(batch)
        late: set[int] = set()
        if self._several() and self._others():
            for tail in self._tails.values():
                told, fresh = tail.read()
                events += told
                late |= fresh
        if self._delivered is not None and any(step <= self._delivered for step in late):
            self._revising = True
        soon = self._manifest.state != "recording" or self._clock() - self._anew >= _ANEW_EVERY
        if self._revising and soon:
            events = [*self._begin_anew(), *events]
        self._release()
        self._tell(events)
        self._started = True

    def _take(self, batch: Batch) -> None:
        """One batch of rank 0's: what the run is, and its rows, which may have to wait."""
        self._events += len(batch.events)
        self._manifest = batch.manifest or self._manifest
        self._own_reading = batch.reading or self._own_reading
        parts = [event for event in batch.events if event.kind == PARTS and event.step is not None]
        if parts:
            self._parts.update({int(event.step or 0): dict(event.fields) for event in parts})
            batch = replace(batch, events=tuple(event for event in batch.events if event.kind != PARTS))
        if len(batch.steps):
            self._last_step = int(batch.steps[-1])
        self._waiting.append((replace(batch, reading=None), self._clock()))  # what is told of all ranks has rank 0's

    def _release(self) -> None:
        while self._waiting:
            batch, since = self._waiting[0]
            live = self._started and self._manifest.state == "recording" and self._clock() - since < GRACE
            if live and len(batch.steps) and not self._covered(int(batch.steps[-1])):
                return
            self._waiting.popleft()
            if len(batch.steps):
                self._delivered = int(batch.steps[-1])
            self._ready.append(enriched(batch, self._tails, self._parts) if self._tails or self._parts else batch)

    def _covered(self, step: int) -> bool:
        """Whether every rank that is at work has told its time of the step, or tells none."""
        at_work = [tail for tail in self._tails.values() if tail.state == "recording"]
        return all(step in tail.seconds or not tail.seconds for tail in at_work)

    def _begin_anew(self) -> list[Event]:
        """Have everything delivered again, with what came late; hands back rank 0's events that are not told yet."""
        self._anew, self._revising = self._clock(), False
        untold = [event for batch, _ in self._waiting for event in batch.events]
        known, self._events = self._events, 0
        self._own = RecordingFeed(self._root)
        self._waiting.clear()
        first = True
        while (batch := self._own.poll()) is not None:
            untold += batch.events[max(0, known - self._events) :]
            whole = replace(batch, revision="all") if first and len(batch.steps) else batch
            first = first and not len(batch.steps)
            self._take(whole)
            held, since = self._waiting.pop()
            self._waiting.append((replace(held, events=()), since))
        self._started = False  # nothing of it waits
        return [event for event in untold if event.kind != PARTS]

    def _tell(self, events: list[Event]) -> None:
        """Add the other ranks' events, and what reading of all of them cost."""
        reading = self._summed()
        if not events and reading == self._told_reading:
            return
        if not self._ready:
            self._ready.append(Batch(steps=NO_ROWS.steps, complete=False))
        self._told_reading = reading
        last = self._ready[-1]
        ordered = sorted(events, key=lambda event: event.time or 0.0)
        self._ready[-1] = replace(last, events=(*last.events, *ordered), reading=reading)

    def _summed(self) -> Reading:
        """Rank 0's reading and the others', with a word on every rank that is missing or behind."""
        readings = {number: tail.reading for number, tail in sorted(self._tails.items())}
        notes = [f"rank {number}: {note}" for number, reading in readings.items() for note in reading.notes]
        own = self._own_reading
        summed = replace(
            own,
            dropped=own.dropped + sum(each.dropped for each in readings.values()),
            bad_values=own.bad_values + sum(each.bad_values for each in readings.values()),
            unreadable=own.unreadable + sum(each.unreadable for each in readings.values()),
            notes=(*own.notes, *notes),
        )
        return with_ranks(summed, self._root, self._manifest, self._last_step, self._tails)
