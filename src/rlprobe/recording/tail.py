"""The rows of steps, live: the parquet prefix, then the journal's frames, each frame once, in order."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np

from rlprobe.recording.columns import Rows
from rlprobe.recording.frames import JournalFile, journal_files
from rlprobe.recording.journal import StepFrame, scan
from rlprobe.recording.layout import STEPS
from rlprobe.recording.merging import Merged, beyond, concatenate, decode_steps, merge, patch
from rlprobe.recording.parquet import DAMAGE, NOTHING, Position, StepsFile
from rlprobe.recording.run import IntArray, Revision

_WINDOW = 64  # steps whose frames are kept, so that a value that comes late changes a few rows instead of all
_LOWEST = -(1 << 63)
Delivery = tuple[Rows, Revision]


class StepsTail:
    """Rows since the last call, segment by segment.

    Journals are read before parquet is opened: a journal file that vanishes in between was covered by a parquet file
    that is in place by then, so no frame falls between the two.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self.notes: list[str] = []
        self._damage = 0
        self._torn: dict[JournalFile, bool] = {}
        self._restart()

    def _restart(self) -> None:
        self._offsets: dict[JournalFile, int] = {}
        self._newest: Position = NOTHING
        self._last_step = _LOWEST
        self._floor = _LOWEST  # steps up to here are not in the window
        self._window: list[StepFrame] = []
        self._started = False
        self.first_steps: dict[int, int] = {}

    @property
    def unreadable(self) -> int:
        """Frames or files that could not be read, a torn end of a finished file among them."""
        return self._damage + sum(self._torn.values())

    def read(self, *, final: bool) -> list[Delivery]:
        """New rows, ready to be appended to a Run in this order."""
        frames, vanished = self._new_frames(final=final)
        if not self._started:
            self._started = True
            return list(self._everything(frames, "none"))
        stored: list[Rows] = []
        if vanished and (file := self._open()) is not None and file.covers > self._newest:
            stored = [rows for rows in file.newer(self._newest, self._tell_damage) if len(rows)]
            self._newest = file.covers
        if any(self._late(int(rows.segments[0]), int(rows.steps.min())) for rows in stored):
            return self._anew()
        out: list[Delivery] = []
        for segment, pieces in _by_segment(stored).items():
            if segment not in self.first_steps:
                self._window.clear()  # it holds frames of an older segment
            for rows in _in_order(pieces):
                self._note_rows(rows)
                out.append((rows, "none"))
            self._floor = self._last_step
        for segment, new in self._beyond(frames).items():
            delivery = self._follow(segment, new)
            if delivery is None:
                return self._anew()
            out.append(delivery)
        return out

    def _anew(self) -> list[Delivery]:
        """Everything again, because a value came for a step that is no longer in the window."""
        damage, self._damage = self._damage, 0
        self._restart()
        frames, _ = self._new_frames(final=False)
        self._started = True
        out = list(self._everything(frames, "all"))
        self._damage = max(self._damage, damage)
        return out

    def _open(self) -> StepsFile | None:
        try:
            return StepsFile.open(self._root / STEPS)
        except DAMAGE as error:
            self._tell_damage(error)
            return None

    def _tell_damage(self, error: Exception) -> None:
        """Note once that steps.parquet, or a row group of it, cannot be read."""
        note = f"{STEPS} could not be read whole: {type(error).__name__}"
        if note not in self.notes:
            self.notes.append(note)
            self._damage += 1

    def _new_frames(self, *, final: bool) -> tuple[list[tuple[int, StepFrame]], bool]:
        """(segment, frame) of what the journal files grew by, and whether a known file has vanished."""
        files = journal_files(self._root, "steps")
        vanished = not self._offsets or not self._offsets.keys() <= set(files)
        for gone in self._offsets.keys() - set(files):
            del self._offsets[gone]
        out: list[tuple[int, StepFrame]] = []
        for file in files:
            offset = self._offsets.setdefault(file, 0)
            try:
                with file.path.open("rb", buffering=0) as journal:
                    if journal.seek(0, 2) == offset:
                        continue
                    journal.seek(offset)
                    data = journal.readall()
            except FileNotFoundError:
                vanished = True
                continue
            found = scan(data)
            frames, foreign = decode_steps(found.payloads)
            self._damage += found.damaged + foreign
            self._offsets[file] = offset + found.end
            self._torn[file] = found.end < len(data) and (final or file != files[-1])
            out.extend((file.segment, frame) for frame in frames)
        return out, vanished

    def _beyond(self, frames: list[tuple[int, StepFrame]]) -> dict[int, list[StepFrame]]:
        """The frames behind the newest one so far, by segment."""
        out: dict[int, list[StepFrame]] = {}
        for segment, frame in frames:
            new = beyond(frame, segment, self._newest)
            if new is not None:
                self._newest = (segment, new.last)
                out.setdefault(segment, []).append(new)
        return out

    def _everything(self, frames: list[tuple[int, StepFrame]], revision: Revision) -> Iterator[Delivery]:
        file = self._open()
        stored: list[Rows] = []
        if file is not None:
            stored = [rows.detached() for rows in file.groups(self._tell_damage)]
            self._newest = file.covers
        for aside in self._root.glob(f"{STEPS}.damaged-*"):
            note = f"{aside.name} was damaged: rows that could not be read are in it"
            if note not in self.notes:
                self.notes.append(note)
                self._damage += 1
        by_segment = _by_segment(stored)
        fresh = self._beyond(frames)
        for segment in sorted({*by_segment, *fresh}):
            merged = merge(fresh.get(segment, []), segment)
            for rows in _in_order([*_patched(by_segment.get(segment, []), merged)]):
                self._note_rows(rows)
                yield rows, revision
                revision = "none"
            self._floor = self._last_step
        self._keep_open(fresh)

    def _keep_open(self, fresh: dict[int, list[StepFrame]]) -> None:
        """Hold the newest steps' frames, as far as all frames of a step are at hand."""
        if not fresh or max(fresh) != max(self.first_steps, default=-1):
            return
        frames = fresh[max(fresh)]
        recent = _steps(frames)[-_WINDOW:].tolist()
        if (self._root / STEPS).exists():  # older ones may have values in parquet; the newest is never there alone
            recent = [step for step in recent if step == self._last_step]
        self._floor = min(recent, default=self._last_step + 1) - 1
        self._window = [part for frame in frames for part in frame.from_step(self._floor + 1)]

    def _late(self, segment: int, step: int) -> bool:
        return segment in self.first_steps and step < self._last_step

    def _follow(self, segment: int, new: list[StepFrame]) -> Delivery | None:
        """The rows that new frames of one segment make or change; None when the window does not reach back."""
        if segment not in self.first_steps:
            self._window.clear()
            self._last_step, self._floor = _LOWEST, _LOWEST
        lowest = min(min(frame.steps) for frame in new)
        late = lowest < self._last_step
        if late and lowest <= self._floor:
            return None
        held = [part for frame in self._window for part in frame.from_step(lowest)]
        rows = merge(held + new, segment).rows
        self._note_rows(rows)
        self._window.extend(new)
        self._trim()
        return rows, "tail" if late else "none"

    def _trim(self) -> None:
        steps = _steps(self._window)
        if len(steps) > 2 * _WINDOW:
            self._floor = int(steps[-_WINDOW - 1])
            self._window = [part for frame in self._window for part in frame.from_step(self._floor + 1)]

    def _note_rows(self, rows: Rows) -> None:
        if len(rows):
            segment = int(rows.segments[0])
            first = int(rows.steps[0])
            self.first_steps[segment] = min(first, self.first_steps.get(segment, first))
            self._last_step = int(rows.steps[-1])


def _steps(frames: list[StepFrame]) -> IntArray:
    """The steps that frames hold something for, in ascending order."""
    return np.unique(np.array([step for frame in frames for step in frame.steps], dtype=np.int64))


def _by_segment(groups: list[Rows]) -> dict[int, list[Rows]]:
    """The rows of each segment in ascending segments, in the pieces in which they were stored."""
    out: dict[int, list[Rows]] = {}
    for rows in groups:
        first, others = rows.segments[:1], rows.segments[1:][np.diff(rows.segments) != 0]
        for segment in sorted({*first.tolist(), *others.tolist()}):
            mine = rows.segments == segment
            out.setdefault(segment, []).append(rows.take(slice(None) if mine.all() else mine))
    return dict(sorted(out.items()))


def _patched(pieces: list[Rows], merged: Merged) -> Iterator[Rows]:
    """Stored rows with the values of newer frames that belong to them, then the rows that are new."""
    for piece in pieces:
        rows = piece
        if len(merged.rows) and merged.rows.steps[0] <= rows.steps.max():
            rows, merged = patch(rows, merged)
        yield rows
    if len(merged.rows):
        yield merged.rows


def _in_order(pieces: list[Rows]) -> list[Rows]:
    """The pieces as they are where their steps ascend, else one piece with its rows in order."""
    steps = [rows.steps for rows in pieces]
    if all(np.all(np.diff(each) > 0) for each in steps) and all(a[-1] < b[0] for a, b in pairwise(steps)):
        return pieces
    rows = concatenate(pieces)
    return [rows.take(np.argsort(rows.steps, kind="stable"))]
