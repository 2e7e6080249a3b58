"""Taking a directory for a new segment: lock it, read what is there, refuse clearly."""

import time
from dataclasses import dataclass
from pathlib import Path

from rlprobe.recording.files import WriterLock, make_directory
from rlprobe.recording.layout import STEPS
from rlprobe.recording.manifest import Document, load_manifest, next_segment

_LOCK_SECONDS = 0.5  # a reader that asks whether the writer is alive holds the lock for microseconds


class RecorderError(ValueError):
    """The recorder cannot start; the message is one line that says what to do."""


class RunInUse(RecorderError):
    """Another recorder is writing to the run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A run's directory, locked; the manifest as it was, and the index of the new segment."""

    root: Path
    lock: WriterLock
    document: Document
    segment: int


def open_directory(root: Path) -> Opened:
    """Make or take up a run's directory.

    Raises:
        RunInUse: another recorder holds it.
        RecorderError: it cannot be made or written.
        UnreadableRecording: it is of a newer major version, or its manifest is somebody else's.
    """
    try:
        make_directory(root)
        lock = _take(root)
    except OSError as error:
        raise RecorderError(
            f"{root}: expected a directory to record into, got {type(error).__name__}: {error.strerror}. "
            "Name a directory that can be written."
        ) from None
    if lock is None:
        raise RunInUse(
            f"{root}: expected a run that nobody records, got one that another recorder holds. "
            "Close that recorder, or record into a directory of its own."
        )
    try:
        document = load_manifest(root)
        segment = next_segment(root, document, _segments_on_disk(root) if document is None else ())
    except BaseException:
        lock.release()
        raise
    return Opened(root=root, lock=lock, document=document or {}, segment=segment)


def _take(root: Path) -> WriterLock | None:
    deadline = time.monotonic() + _LOCK_SECONDS
    while (lock := WriterLock.take(root)) is None and time.monotonic() < deadline:
        time.sleep(0.01)
    return lock


def _segments_on_disk(root: Path) -> list[int]:
    """Segments that parquet names, for a run whose manifest was lost."""
    if not (root / STEPS).exists() and not any((root / "samples").glob("part-*.parquet")):
        return []
    from rlprobe.recording.parquet import DAMAGE, StepsFile  # only here: pyarrow takes half a second to import
    from rlprobe.recording.samples import covered

    found = [covered(root)[0][0]]
    try:
        file = StepsFile.open(root / STEPS)
        found.extend([file.covers[0]] if file else [])
    except DAMAGE:
        pass
    return found
