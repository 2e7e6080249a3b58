"""From the journal to steps.parquet: every few seconds, at close, and when a run is taken up again."""

import contextlib
from dataclasses import dataclass
from pathlib import Path

from rlprobe.recording.damage import refused, set_aside
from rlprobe.recording.frames import JournalFile, journal_files, read_journals, remove_journals
from rlprobe.recording.journal import StepFrame
from rlprobe.recording.layout import STEPS
from rlprobe.recording.merging import beyond, decode_steps, merge
from rlprobe.recording.parquet import DAMAGE, END, NOTHING, Position, StepsFile, write_steps

_OPEN_FRAMES = 1024  # frames that a snapshot leaves in the journal at most, because their step can still change
_PIECE_BYTES = 8 << 20  # bytes of journal that are in memory at once, where the files are no larger
_PIECE_SHARE = 8  # or this part of steps.parquet, when that is more: writing it anew costs by its size
_STREAM = "steps"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """Frames that parquet does not cover, by segment, and the newest position in each journal file."""

    frames: dict[int, list[StepFrame]]
    last: dict[JournalFile, Position]
    unreadable: int


def pending_steps(root: Path, covers: Position, before: Position = END) -> Pending:
    """What the journal files that begin before `before` hold beyond `covers`, each frame once, in order."""
    frames: dict[int, list[StepFrame]] = {}
    last: dict[JournalFile, Position] = {}
    unreadable = 0
    newest = covers
    for content in read_journals(root, _STREAM, before):
        decoded, foreign = decode_steps(content.payloads)
        unreadable += content.unreadable + foreign
        segment = content.file.segment
        for frame in decoded:
            new = beyond(frame, segment, newest)
            if new is not None:
                newest = (segment, new.last)
                frames.setdefault(segment, []).append(new)
        last[content.file] = (segment, decoded[-1].last) if decoded else (segment, content.file.first)
    return Pending(frames=frames, last=last, unreadable=unreadable)


def snapshot_steps(root: Path, *, closing: bool, before: Position = END) -> int:
    """Bring steps.parquet up to the journal and delete the journal files that it then covers.

    The newest step stays in the journal while it can still change, unless `closing`.

    Args:
        closing: whether nobody will log any more.
        before: journal files that begin here or later are left alone; the writer may be appending to them.

    Returns:
        rows that were written new.
    Raises:
        OSError: the disk refused; nothing is lost.
    """
    rows, start = 0, NOTHING
    while (behind := _piece_end(root, start, before)) is not None:
        rows += _move(root, closing=False, before=behind)
        start = behind
    return rows + _move(root, closing=closing, before=before)


def _piece_end(root: Path, start: Position, before: Position) -> Position | None:
    """Where the journal file begins that is too much for a piece of those from `start` on; None when all are not."""
    size, most = 0, _PIECE_BYTES
    with contextlib.suppress(FileNotFoundError):
        most = max(most, (root / STEPS).stat().st_size // _PIECE_SHARE)
    for file in journal_files(root, _STREAM):
        place = (file.segment, file.first)
        if place < start:  # taken already, but for its open step
            continue
        with contextlib.suppress(FileNotFoundError):
            size += file.path.stat().st_size
        if place >= before:
            return None
        if size > most and place > start:
            return place
    return None


def _move(root: Path, *, closing: bool, before: Position) -> int:
    """One piece from the journal to parquet; returns its rows."""
    path = root / STEPS
    try:
        old = StepsFile.open(path)
    except DAMAGE as error:
        if refused(error):
            raise
        set_aside(path)
        old = None
    covers = old.covers if old else NOTHING
    pending = pending_steps(root, covers, before)
    if not closing and pending.frames:
        newest = max(pending.frames)
        pending.frames[newest] = _without_open_step(pending.frames[newest])
    reached = [(segment, frames[-1].last) for segment, frames in pending.frames.items() if frames]
    merged = [merge(frames, segment) for segment, frames in sorted(pending.frames.items()) if frames]
    pending.frames.clear()  # the same values twice would be twice the memory
    if merged:
        covers = max(covers, *reached)
        write_steps(path, old, merged, covers, tidy=not closing)
    remove_journals([file for file, position in pending.last.items() if position <= covers])
    return sum(len(part.rows) for part in merged)


def _without_open_step(frames: list[StepFrame]) -> list[StepFrame]:
    """What comes before the first frame of the highest step; everything where that leaves too much."""
    highest = max(max(frame.steps) for frame in frames)
    first = next(index for index, frame in enumerate(frames) if highest in frame.steps)
    if sum(len(frame.steps) for frame in frames[first:]) > _OPEN_FRAMES:
        return frames
    closed = frames[first].steps.index(highest)
    return [*frames[:first], *([frames[first].part(0, closed)] if closed else [])]
