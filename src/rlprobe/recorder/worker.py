"""The recorder's two threads, and the queue that leads to them.

The training thread only puts items on the queue. The worker takes them every POLL seconds and appends them to the
journal; it never waits for a sync or for parquet. The keeper syncs, makes snapshots and mends. The queue is bounded by
count and by bytes: what does not fit is dropped and counted, the caller never waits. In a forked child neither thread
exists; the recorder is inert there. Both are daemon threads: an exit handler closes them in order.
"""

import contextlib
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from queue import Empty, SimpleQueue

from rlprobe.recorder.items import ITEM_BYTES, FlushItem, Item, rows_of
from rlprobe.recorder.session import Session
from rlprobe.recording.run import State

POLL = 0.1  # seconds between two looks into the queue: what SIGKILL can cost
_IDLE_LOOKS = 2  # looks that find nothing, after which the writer sleeps until it is rung for
_NAP = 0.5  # seconds for which it sleeps at most: it looks after the keeper
_KEEP_EVERY = 0.5  # seconds between two rounds of the keeper
_SYNC_EVERY = 5.0  # seconds between two fsyncs: what a power loss can cost
_SNAPSHOT_EVERY = 10.0  # seconds at least between two snapshots
_SNAPSHOT_SHARE = 100  # times its own duration that a snapshot waits for the next: 1 % of a core
_GROWTH = 0.05  # fraction by which the rows must have grown
_JOURNAL_BYTES = 8 << 20  # bytes of journal at which a snapshot is made at once: bounds memory
_PART_ROWS, _PART_BYTES = 4096, 32 << 20  # sample rows, or bytes, at which a part is written
_NEVER = float("inf")
_ROUND = 4096  # items of one round
_FEW = 64  # items for which no further round is made
_CROWDED = 32 << 20  # bytes in the queue from which on callers make their items small at the cost of their own time
_NAP_EVERY, _MOMENT = 256, 5e-5  # every how many such calls one lets go of the interpreter, and for how many seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Items and bytes that may wait in the queue."""

    items: int = 1 << 17
    size: int = 256 << 20


class Worker:
    """Takes items from any thread and has the session write them.

    Args:
        session: owned by this object's threads from `start` on.
        bounds: of the queue.
        first: done once by the keeper thread before anything else.
        each: done by the keeper thread in each of its rounds, before it works on the disk.
        clock: seconds; only differences count.

    Attributes:
        crowded: whether much waits in the queue.
    """

    def __init__(
        self,
        session: Session,
        bounds: Bounds,
        *,
        first: Callable[[], None] = lambda: None,
        each: Callable[[], object] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.session = session
        self.lost = 0
        self.lost_bytes = 0
        self._most_items, self._most_bytes = bounds.items, bounds.size
        self._easy = min(_CROWDED, bounds.size, bounds.items * ITEM_BYTES)  # bytes up to which nothing is to be asked
        self._clock, self._first, self._each = clock, first, each
        self._queue: SimpleQueue[Item] = SimpleQueue()
        self._put = self._queue.put
        self.crowded = False
        self._crowding = 0  # items that came while much waited
        self._given = self._taken = 0  # bytes; a race between callers makes them drift, an empty queue sets them right
        self._bell: SimpleQueue[None] = SimpleQueue()  # an Event's lock would hold up a signal handler that rings again
        self._rung = self._asleep = False
        self._idle = 0  # looks in a row that found nothing
        self._taken_out: list[Item] = []
        self._finished = False
        self._stop_keeper = threading.Event()
        self._closing: State | None = None
        self._count_lock = threading.RLock()
        self._start_lock = threading.RLock()
        self._told_lost = 0
        self._keeper = threading.Thread(target=self._keep_first, name="rlprobe-keeper", daemon=True)
        self._thread = threading.Thread(target=self._work, name="rlprobe-writer", daemon=True)

    def start(self) -> None:
        """Start both threads."""
        with self._start_lock:
            self._keeper.start()
            self._thread.start()

    def _revive(self) -> None:
        """Start a thread anew where something ended it: each looks after the other, callers after the writer.

        Raises:
            RuntimeError: the interpreter ends, or the system has no thread left.
        """
        with self._start_lock:
            if not self._thread.is_alive() and not self._finished:
                writer = threading.Thread(target=self._work, name="rlprobe-writer", daemon=True)
                writer.start()
                self._thread = writer
            if not self._keeper.is_alive() and self._closing is None:
                keeper = threading.Thread(target=self._keep, name="rlprobe-keeper", daemon=True)
                keeper.start()
                self._keeper = keeper

    def submit(self, item: Item, rows: int = 1) -> bool:
        """Hand an item over; False when there was no room and its rows were dropped."""
        given = self._given + item.size
        if given - self._taken > self._easy:
            return self._submit_where_much_waits(item, rows)
        self._given = given
        self._put(item)
        if self._asleep:
            self.wake()
        return True

    def _submit_where_much_waits(self, item: Item, rows: int) -> bool:
        """Ask the bounds, and count exactly: here a count that several threads spoil would not be set right soon."""
        with self._count_lock:
            waiting = self._given + item.size - self._taken
            fits = waiting <= self._most_bytes and self._queue.qsize() < self._most_items
            if fits:
                self._given += item.size
                self._put(item)
            else:
                self.lost += rows
                self.lost_bytes += item.size
            self.crowded = waiting > _CROWDED
            self._crowding += self.crowded
            nap = self.crowded and self._crowding % _NAP_EVERY == 0
        if self._asleep:
            self.wake()
        if nap:  # lets the writer have the interpreter, for which it waits in a loop that only logs
            time.sleep(_MOMENT)
        return fits

    def flush(self, timeout: float) -> bool:
        """Have everything that was handed over before in the journal.

        Returns:
            False when that took longer than `timeout` seconds, or the disk refuses it for now.
        """
        if self._finished or not self._attempt("writer", self._revive):
            return False
        item = FlushItem()
        self._queue.put(item)
        self.wake()
        return item.wait(timeout)

    @property
    def dropped(self) -> int:
        """Rows that were not recorded: no room in the queue, or none on the disk."""
        return self.session.dropped + self.lost

    def wake(self) -> None:
        """Have the queue looked into now."""
        if not self._rung:
            self._rung = True
            self._bell.put(None)

    def close(self, state: State, timeout: float) -> bool:
        """Write everything and stop; False when that took longer than `timeout` (it then goes on in the background)."""
        self._closing = state
        self.wake()
        if threading.current_thread() is not self._thread:
            try:
                self._revive()
                self._thread.join(timeout)
            except RuntimeError:  # the interpreter ends and starts no thread any more
                self._work()
        return self._finished

    # the worker thread

    def _work(self) -> None:
        if self._taken_out:  # what a writer thread had in its hands when something ended it
            self.session.count_dropped(sum(map(rows_of, self._taken_out)))
        while True:
            self._rest()
            closing = self._closing
            self._drain()
            if not self._keeper.is_alive() and closing is None:
                self._attempt("keeper", self._revive)
            if closing is not None and self._queue.empty():
                break
        self._stop_keeper.set()
        self._keeper.join()
        self._attempt("finish", lambda: self._finish(closing))
        self._finished = True

    def _rest(self) -> None:
        """Wait for the next look; once nothing came for a while, for the next item: few looks where steps are slow."""
        self._asleep = self._idle >= _IDLE_LOOKS
        nap = self._asleep and self._queue.empty()  # asked after callers were told to ring
        with contextlib.suppress(Empty):
            self._bell.get(timeout=_NAP if nap else POLL)
        self._rung = self._asleep = False
        self._idle = self._idle + 1 if self._queue.empty() else 0

    def _drain(self) -> None:
        """Write what waits; a few items that come meanwhile are left for the next look, which takes them together."""
        few = 0
        while (waiting := self._queue.qsize()) > few:
            few = _FEW
            entries = self._taken_out = [self._queue.get_nowait() for _ in range(min(waiting, _ROUND))]
            self._taken += sum(item.size for item in entries)
            self._attempt("write", lambda entries=entries: self.session.write(entries))  # type: ignore[misc]  # bound early
            self._taken_out = []
            self.crowded = self._given - self._taken > _CROWDED
        if self._given != self._taken and self._queue.empty():
            self._given = self._taken = 0
            self.crowded = False

    def _attempt(self, where: str, action: Callable[[], object]) -> bool:
        try:
            action()
        except Exception as error:  # the recorder's own failure: remembered, told in the manifest, training goes on
            self.session.fail(where, error)
            return False
        return True

    def _finish(self, state: State) -> None:
        self._tell_lost()
        self.session.finish(state)

    # the keeper thread

    def _keep_first(self) -> None:
        self._attempt("first", self._first)
        self._keep()

    def _keep(self) -> None:
        schedule = _Schedule(self._clock())
        while not self._stop_keeper.wait(_KEEP_EVERY):
            self._attempt("writer", self._revive)
            self._attempt("each", self._each)
            self._attempt("keep", lambda: self._round(schedule))

    def _round(self, schedule: "_Schedule") -> None:
        session, now = self.session, self._clock()
        session.mend()
        self._tell_lost()
        if now >= schedule.sync:
            schedule.sync = now + _SYNC_EVERY
            session.sync()
        if schedule.snapshot_due(now, session.steps.rows, session.steps.size):
            schedule.begin(session.steps.rows)
            try:
                session.snapshot()
                schedule.done()
            finally:
                schedule.end(now, self._clock())
        if schedule.parts_due(now, session.samples.rows, session.samples.size):
            schedule.parts = now + _SNAPSHOT_EVERY  # where the disk refuses them
            session.write_parts()
            schedule.parts = _NEVER

    def _tell_lost(self) -> None:
        with self._count_lock:
            rows, size = self.lost, self.lost_bytes
            self.lost = self.lost_bytes = 0
        refused, self._told_lost = self.session.dropped - self._told_lost, self.session.dropped
        if rows:
            self.session.count_dropped(rows)
            self._told_lost += rows
            self.session.tell("dropped", rows=rows, bytes=size, reason="queue full")
        if refused:
            self.session.tell("dropped", rows=refused, reason="refused by the disk, or deleted")


@dataclass(slots=True)
class _Schedule:
    """When the keeper syncs and makes snapshots; all in the clock's seconds."""

    started: float
    sync: float = 0.0
    snapshot: float = 0.0
    parts: float = _NEVER
    covered: int = 0
    owed: int = 0

    def __post_init__(self) -> None:
        self.sync = self.started + _SYNC_EVERY
        self.snapshot = self.started + _SNAPSHOT_EVERY

    def snapshot_due(self, now: float, rows: int, size: int) -> bool:
        """Whether enough is new, and the last one long enough ago."""
        rows += self.owed
        return size >= _JOURNAL_BYTES or (now >= self.snapshot and rows > max(1, _GROWTH * self.covered))

    def parts_due(self, now: float, rows: int, size: int) -> bool:
        """Whether there are sample rows enough for a part, or the disk refused one a while ago."""
        return rows >= _PART_ROWS or size >= _PART_BYTES or now >= self.parts

    def begin(self, rows: int) -> None:
        """A snapshot of so many new rows begins; until it is done they are owed."""
        self.owed += rows

    def done(self) -> None:
        """It was written."""
        self.covered, self.owed = self.covered + self.owed, 0

    def end(self, began: float, now: float) -> None:
        """It ended."""
        self.snapshot = now + max(_SNAPSHOT_EVERY, _SNAPSHOT_SHARE * (now - began))
