"""One segment being written: items become frames, frames go to the journal, parquet follows.

The worker thread calls `write` and `finish`, the keeper thread calls `keep`; whoever appends or rotates holds `_lock`.
Nothing here runs on the training thread except the constructor.
"""

import contextlib
import logging
import os
import time
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from threading import Lock

from rlprobe.recorder.facts import learnt
from rlprobe.recorder.foothold import Foothold
from rlprobe.recorder.items import EventItem, FlushItem, Item, ManifestItem, SamplesItem, StepItem, rows_of
from rlprobe.recorder.journaling import Streams
from rlprobe.recorder.packing import Blocks, Packed, Packer, derived_frame
from rlprobe.recorder.sample_rows import CaptureText, sample_block, sample_frame, without_text
from rlprobe.recorder.sampling import SamplePolicy
from rlprobe.recorder.statistics import StepStatistics
from rlprobe.recorder.told import Told
from rlprobe.recording.event_log import event_line
from rlprobe.recording.files import WriterLock
from rlprobe.recording.frames import END
from rlprobe.recording.layout import LOCK
from rlprobe.recording.manifest import Document, save_manifest
from rlprobe.recording.run import State
from rlprobe.recording.samples import part_files, snapshot_samples
from rlprobe.recording.snapshot import snapshot_steps
from rlprobe.recording.values import Bad, shown

log = logging.getLogger("rlprobe")

_ERRORS = 100  # messages of failures inside the recorder that are kept
_LAST_SECONDS = 2.0  # how long a recorder that closes goes on trying to write what the disk refuses


class Session:
    """The files of one segment.

    Args:
        root: the run's directory (or a rank's); it exists and is locked.
        segment: index of this session.
        document: the manifest; owned by the session from here on.
        policy: which sample rows are kept.
        capture_text: whether texts are kept, hashed or left out.
        lock: the directory's; None where nobody locks.
    """

    def __init__(
        self,
        root: Path,
        segment: int,
        document: Document,
        *,
        policy: SamplePolicy,
        capture_text: CaptureText,
        lock: WriterLock | None = None,
    ) -> None:
        self.root, self.segment = root, segment
        self.document = document
        self.errors: list[str] = []
        self.dropped = self.bad_values = 0
        self._foothold = foothold = Foothold(root, lock, document.get("run_id"))
        self._streams = Streams.of(root, segment, foothold.ours)
        self.steps, self.samples, self.events = self._streams.all
        self._lock = self._streams.lock
        self._numbering = Lock()  # both threads tell events, and the steps of a block are numbered in one go
        self._next = 0
        self._frames: list[bytes] = []  # of steps, not appended yet
        self._logged = 0  # steps in them
        self._packer, self._derived_packer = Packer(), Packer(stamped=False)
        self._blocks = Blocks(self._number)
        self._policy, self._capture_text = policy, capture_text
        policy.written = sum(path.stat().st_size for path in part_files(root))
        self._statistics = StepStatistics()
        sessions = document.get("segments")
        self._all_ranks = bool(isinstance(sessions, list) and sessions and sessions[-1].get("all_ranks"))
        self._told = Told()
        self._manifest_due = False
        self._first_step: int | None = None
        foothold.lay()
        save_manifest(root, document)

    # the worker thread

    def write(self, items: Iterable[Item]) -> None:
        """Append the items in order; a flush item is answered when what was before it was given to the disk."""
        first = self._next
        for item in items:
            if isinstance(item, FlushItem):
                self._append_steps(first)
                first = self._next
                item.answer(kept=self._streams.retry())
                continue
            try:
                self._take_step(item) if type(item) is StepItem else self._take_other(item)
            except Exception as error:  # a foreign value is caught where it is converted; this is ours, or no memory
                self.fail(type(item).__name__, error)
                self.count_dropped(rows_of(item))
        self._append_steps(first)
        if self._manifest_due:
            self._manifest_due = False
            self.save()

    def _take_other(self, item: Item) -> None:
        """Samples and events are appended at once; what was logged before them has the lower numbers."""
        self._frames += self._blocks.close()
        if isinstance(item, SamplesItem):
            self._take_samples(item)
        elif isinstance(item, EventItem):
            self.tell(item.kind, item.step, item.time, **item.fields)
        elif isinstance(item, ManifestItem):
            self.learn(item.changes)

    def learn(self, changes: Mapping[str, object]) -> None:
        """Enter facts into the manifest."""
        with self._lock:
            learnt(self.document, changes)
        self._manifest_due = True

    def _number(self, count: int = 1) -> int:
        """The first of so many sequence numbers."""
        with self._numbering:
            self._next += count
            return self._next - count

    def _append_steps(self, first: int) -> None:
        self._frames += self._blocks.close()
        self._add_statistics()
        if self._frames:
            with self._lock:
                self.dropped += self.steps.write(first, self._logged, b"".join(self._frames))
        self._frames, self._logged = [], 0

    def count_dropped(self, rows: int) -> None:
        """Count rows that never reached the session, or failed in it."""
        with self._lock:
            self.dropped += rows

    def _take_step(self, item: StepItem) -> None:
        if self._statistics.changed:  # they come before the row, so that it keeps the place at which it was logged
            self._add_statistics()
        if self._first_step is None:
            self._first_step = item.step
            if self.segment > 0:
                self.tell("resume", item.step, item.time, from_step=item.step)
        bad: list[Bad] = []
        packed = item.metrics if isinstance(item.metrics, Packed) else self._packer.plain(item.metrics, item.time)
        if packed is None:
            packed, bad = self._packer.any(item.metrics, item.time)  # type: ignore[arg-type]  # what is packed is not None
        self._frames += self._blocks.add(item.step, item.time, packed)
        self._logged += 1
        if bad or not packed.finite:
            self._tell_of(item, packed, bad)

    def _tell_of(self, item: StepItem, packed: Packed, bad: list[Bad]) -> None:
        """Tell what is wrong with a row, once a metric; the row comes first."""
        odd = [(name, value) for name, value in packed.odd() if self._told.first("non_finite", name)]
        if bad or odd:
            self._frames += self._blocks.close()
        self._tell_bad(bad, item.step, item.time)
        for name, value in odd:
            self.tell("non_finite", item.step, item.time, metric=name, value=value)

    def _take_samples(self, item: SamplesItem) -> None:
        if item.step != self._statistics.step:
            self._add_statistics()
        block = sample_block(item.rows)
        self._tell_bad(block.bad, item.step, item.time)
        self._statistics.add(item.step, block.columns, block.rows)
        kept = self._policy.choose(block, item.step)
        if kept:
            self._append_samples(item.step, item.time, kept)

    def _append_samples(self, step: int, when: float, kept: dict[str, list[object]]) -> None:
        number = self._number()
        piece = sample_frame(number, step, when, without_text(kept, self._capture_text))
        with self._lock:
            self.dropped += self.samples.write(number, len(kept["sample"]), piece)

    def _add_statistics(self) -> None:
        found = self._statistics.due()
        if not found or self._statistics.step is None:
            return
        now = time.time()
        if self._statistics.parts and self._all_ranks:
            self.tell("group_parts", self._statistics.step, now, **self._statistics.parts)
        packed = self._derived_packer.plain(found, now) or self._derived_packer.any(found, now)[0]
        self._frames.append(derived_frame(self._number(), self._statistics.step, now, packed))

    def _tell_bad(self, bad: list[Bad], step: int, when: float) -> None:
        self.bad_values += len(bad)
        for each in bad:
            if self._told.first("bad_value", each.metric):
                value = each.value if self._capture_text is True else ""  # may be a text in the wrong place
                self.tell("bad_value", step, when, metric=each.metric, value=value, reason=each.reason)

    def tell(self, kind: str, step: int | None = None, when: float | None = None, **fields: object) -> None:
        """Append an event, and the sample rows around it that were held back."""
        number, when = self._number(), time.time() if when is None else when
        line = event_line(kind, step=step, time=when, segment=self.segment, sequence=number, fields=fields)
        with self._lock:
            self.events.write(number, 0, line)
        for place, kept in self._policy.around(kind, step):
            self._append_samples(place, when, kept)

    def save(self) -> None:
        """Replace the manifest, with what was counted so far."""
        if not self._foothold.ours():
            return
        counts = {"dropped": self.dropped, "bad_values": self.bad_values, "errors": len(self.errors)}
        with self._lock:
            learnt(self.document, {"counts": counts, **({"errors": [*self.errors]} if self.errors else {})})
            document = {**self.document}
        try:
            save_manifest(self.root, document)
        except OSError as error:
            self.fail("manifest", error)
            self._manifest_due = True

    def fail(self, where: str, error: BaseException) -> None:
        """Remember that something inside the recorder failed; training goes on."""
        if len(self.errors) < _ERRORS:
            told = self._capture_text is True or isinstance(error, OSError)  # others can quote a text
            self.errors.append(f"{where}: {type(error).__name__}" + (f": {shown(str(error))}" if told else ""))

    # the keeper thread

    def sync(self) -> None:
        """fsync what was appended; what fails is remembered, and tried again."""
        for error in self._streams.sync():
            self.fail("sync", error)
        with contextlib.suppress(OSError):  # a sign of life, which other hosts can compare with those of other ranks
            os.utime(self.root / LOCK)

    def mend(self) -> None:
        """Write what the disk refused; lay the directory anew when somebody deleted it, or let go when it was taken."""
        foothold, streams = self._foothold, self._streams
        if not self.steps.shut:
            ours = foothold.ours()
            self.count_dropped(streams.leave_lost() if ours or foothold.kept() else streams.forget())
            if not ours and not foothold.regain():
                self.count_dropped(streams.shut_down())
                log.warning("rlprobe: %s is recorded by another recorder now: this one stops", self.root)
            elif not foothold.laid():
                foothold.lay()
                self.save()
        streams.retry()

    def snapshot(self, *, closing: bool = False) -> int:
        """Bring steps.parquet up to the journal; returns the rows written new."""
        if not self._foothold.ours():
            return 0
        with self._lock:
            self.steps.rotate()
            limit = END if closing else (self.segment, self.steps.reached + 1)
        return snapshot_steps(self.root, closing=closing, before=limit)

    def write_parts(self, *, closing: bool = False) -> int:
        """Turn the journal's sample frames into parts; returns their rows."""
        if not self._foothold.ours():
            return 0
        with self._lock:
            self.samples.rotate()
            limit = END if closing else (self.segment, self.samples.reached + 1)
        return snapshot_samples(self.root, before=limit)

    def finish(self, state: State) -> None:
        """Last words: everything into parquet, the state into the manifest. Both other threads have stopped."""
        snapshot, parts = partial(self.snapshot, closing=True), partial(self.write_parts, closing=True)
        for name, step in (("mend", self._mend_last), ("snapshot", snapshot), ("samples", parts)):
            try:
                step()
            except Exception as error:  # whatever parquet cannot hold stays in the journal, where readers find it
                self.fail(name, error)
        with self._lock:
            self.dropped += self.steps.give_up() + self.samples.give_up()
        if state == "closed":
            self.tell("closed")
        self.sync()
        self.document["state"] = state
        self.save()
        with self._lock:
            self.abandon()

    def _mend_last(self) -> None:
        deadline = time.monotonic() + _LAST_SECONDS
        self.mend()
        while not self._streams.retry() and not self.steps.shut and time.monotonic() < deadline:
            time.sleep(0.05)

    def abandon(self) -> None:
        """Let go of the files and of the lock without a write; in a forked child the parent keeps its own."""
        self._streams.rotate()
        self._foothold.let_go()
