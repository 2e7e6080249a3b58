"""A recording as a feed: is it one, what does its manifest say, which rows and events are new."""

import contextlib
from collections import deque
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rlprobe.recording.columns import NO_ROWS, Rows
from rlprobe.recording.event_log import EventTail
from rlprobe.recording.files import rank_folders
from rlprobe.recording.frames import journal_files
from rlprobe.recording.layout import EVENTS, JOURNAL, LOCK, MANIFEST, SAMPLES, STEPS, rank_directory
from rlprobe.recording.manifest import Document, UnreadableRecording, load_manifest, manifest_of, metadata_of
from rlprobe.recording.run import Batch, BoolArray, Reading, Revision, Samples
from rlprobe.recording.tail import StepsTail

if TYPE_CHECKING:
    from rlprobe.recording.sample_blocks import SampleBlock
    from rlprobe.recording.samples import Chunk

__all__ = ["RecordingFeed", "UnreadableRecording", "is_recording"]

_MARKS = (MANIFEST, STEPS, EVENTS, JOURNAL, SAMPLES)


def is_recording(path: str | Path) -> bool:
    """Whether a directory holds a recording, whole or damaged."""
    root = Path(path)
    if not root.is_dir():
        return False
    if (root / MANIFEST).is_file():
        try:
            return load_manifest(root) is not None or (root / STEPS).exists() or (root / JOURNAL).is_dir()
        except UnreadableRecording:
            return "expected a recording" not in _reason(root)
    return any(journal_files(root, stream) for stream in ("steps", "samples")) or (
        (root / STEPS).is_file() and ((root / LOCK).exists() or (root / JOURNAL).is_dir())
    )


def _reason(root: Path) -> str:
    try:
        load_manifest(root)
    except UnreadableRecording as error:
        return str(error)
    return ""


def check(root: Path) -> None:
    """Refuse what is no recording.

    Raises:
        UnreadableRecording: with one line that says what is there instead.
    """
    if not root.exists():
        raise UnreadableRecording(f"{root}: expected a run's directory, got nothing there. Check the path.")
    if not root.is_dir():
        raise UnreadableRecording(
            f"{root}: expected a run's directory, got a file. Name the directory that holds {MANIFEST}."
        )
    _refuse_endless(root)
    load_manifest(root)
    if not any((root / mark).exists() for mark in _MARKS):
        what = "an empty directory" if not any(root.iterdir()) else "a directory without a recording"
        raise UnreadableRecording(
            f"{root}: expected a recording, got {what}. Name the directory that a Recorder wrote."
        )


def _refuse_endless(root: Path) -> None:
    """Refuse a recording of which a part is no file: a pipe, or a link to a device, is read without an end."""
    marks = [folder / mark for folder in (root, *rank_folders(root).values()) for mark in _MARKS]
    inside = [path for mark in marks if mark.is_dir() for path in mark.iterdir()]
    for path in (*marks, *inside):
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise UnreadableRecording(
                f"{path}: expected a file, got another kind of path. Remove it from the recording."
            )


class RecordingFeed:
    """Rows, events and samples of a recording, live or finished. Each poll costs what is new.

    Args:
        path: the run's directory.

    Raises:
        UnreadableRecording: there is no recording, or one of a newer major version.
    """

    def __init__(self, path: str | Path) -> None:
        self._root = Path(path)
        check(self._root)
        self.source = str(path)
        self._steps = StepsTail(self._root)
        self._events = EventTail(self._root)
        self._ready: deque[Batch] = deque()
        self._document: Document | None = None
        self._manifest_seen: object = None
        self._reading: Reading | None = None
        self._damaged: set[Path] = set()

    @property
    def ranks(self) -> tuple[int, ...]:
        """The ranks that recorded, rank 0 (the run itself) first."""
        return (0, *rank_folders(self._root))

    def rank(self, number: int) -> "RecordingFeed":
        """The feed of what one rank recorded."""
        return RecordingFeed(rank_directory(self._root, number))

    def poll(self) -> Batch | None:
        """The rows since the last poll, or None when there is nothing new."""
        if not self._ready:
            self._ready.extend(self._read())
        return self._ready.popleft() if self._ready else None

    def samples(self, *, step: int | None, columns: tuple[str, ...] | None) -> Samples:
        """Sample rows in recorded order, all of them or those of one step; rows that a rewind replaced are left out."""
        from rlprobe.recording.samples import gather, read_chunks  # a diagnosis of rows does without

        chunks = list(read_chunks(self._root, step=step, columns=columns, damaged=self._damaged.add))
        first_steps = dict(self._steps.first_steps)
        for chunk in chunks:  # a segment whose rows of steps are lost still took back what is older
            if len(chunk) and int(chunk.segments[0]) not in self._steps.first_steps:
                segment, first = int(chunk.segments[0]), int(chunk.steps.min())
                first_steps[segment] = min(first, first_steps.get(segment, first))
        held = gather(chunks, lambda chunk: _current(chunk, first_steps))
        rows = len(held["step"])  # type: ignore[arg-type]  # an array
        wanted = held if columns is None else {name: column for name, column in held.items() if name in columns}
        return Samples(columns=wanted, rows=rows)

    def sample_blocks(self) -> "list[SampleBlock]":
        """Sample rows as Arrow blocks, in recorded order, without those that a rewind replaced."""
        from rlprobe.recording.sample_blocks import recorded_blocks  # a diagnosis of rows does without

        return recorded_blocks(self._root, self._steps.first_steps)

    def _read(self) -> list[Batch]:
        """New batches; the state is looked up first, so that a closed run is one whose rows were all read later."""
        changed = self._read_manifest()
        state = manifest_of(self._root, self._document)
        final = state.state != "recording"
        events = self._events.read(final=final)
        batches = [_batch(rows, revision) for rows, revision in self._steps.read(final=final)]
        reading = self._sum_up()
        if changed != state.state or events or reading != self._reading:
            self._manifest_seen = (self._manifest_seen[0], state.state)  # type: ignore[index]  # a pair since _read_manifest
            extra = _batch(NO_ROWS, "none")
            batches = batches or [extra]
            batches[-1] = replace(
                batches[-1],
                events=tuple(events),
                manifest=state,
                reading=reading,
                metadata=metadata_of(self._document),
            )
        self._reading = reading
        if batches:
            batches[-1] = replace(batches[-1], complete=final)
        return batches

    def _read_manifest(self) -> object:
        """The state that was last told; None when the file has changed since."""
        try:
            status = (self._root / MANIFEST).stat()
            seen: object = (status.st_mtime_ns, status.st_ino, status.st_size)
        except OSError:
            seen = ()
        if isinstance(self._manifest_seen, tuple) and self._manifest_seen[0] == seen:
            return self._manifest_seen[1]
        self._manifest_seen = (seen, None)
        with contextlib.suppress(UnreadableRecording):  # replaced by a newer writer: the rows are read on as before
            self._document = load_manifest(self._root) or self._document
        return None

    def _sum_up(self) -> Reading:
        counts = (self._document or {}).get("counts")
        told = counts if isinstance(counts, dict) else {}
        notes = list(self._steps.notes)
        notes += [f"{SAMPLES}/{path.name} could not be read" for path in sorted(self._damaged)]
        if self._document is None:
            notes.append(f"{MANIFEST} is missing or damaged: settings and configuration are unknown")
        return Reading(
            dropped=max(self._events.dropped, _count(told.get("dropped"))),
            bad_values=max(self._events.bad_values, _count(told.get("bad_values"))),
            unreadable=self._steps.unreadable + self._events.unreadable + len(self._damaged),
            notes=tuple(notes),
        )


def _batch(rows: Rows, revision: Revision) -> Batch:
    return Batch(
        steps=rows.steps,
        segments=rows.segments,
        sequences=rows.sequences,
        columns=rows.columns,
        revision=revision,
    )


def _current(chunk: "Chunk", first_steps: dict[int, int]) -> BoolArray:
    """Which rows no later segment has taken back."""
    keep = np.ones(len(chunk), dtype=bool)
    for segment, first in first_steps.items():
        keep &= ~((chunk.segments < segment) & (chunk.steps >= first))
    return keep


def _count(value: object) -> int:
    return value if isinstance(value, int) and value >= 0 else 0
