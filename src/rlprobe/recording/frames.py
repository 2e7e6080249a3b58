"""The journal files of a recording: listed, read, and removed once parquet covers them."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rlprobe.recording.files import sync_directory
from rlprobe.recording.journal import scan
from rlprobe.recording.layout import JOURNAL, parse_journal

Position = tuple[int, int]  # (segment, sequence number) of a frame
NOTHING: Position = (-1, -1)
END: Position = (1 << 62, 0)


@dataclass(frozen=True, slots=True, order=True)
class JournalFile:
    """One journal file; files of a stream sort in the order in which they were written."""

    segment: int
    first: int
    path: Path


def journal_files(root: Path, stream: str) -> list[JournalFile]:
    """The stream's journal files, oldest first."""
    found = []
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        for path in (root / JOURNAL).iterdir():
            parsed = parse_journal(path.name)
            if parsed is not None and parsed[0] == stream:
                found.append(JournalFile(parsed[1], parsed[2], path))
    return sorted(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalContent:
    """A journal file's whole frames, and the stretches of it that are none (a torn end counts as one)."""

    file: JournalFile
    payloads: list[memoryview]
    unreadable: int


def read_journals(root: Path, stream: str, before: Position = END) -> Iterator[JournalContent]:
    """The content of the stream's journal files, oldest first; one that vanishes meanwhile is skipped.

    Raises:
        OSError: a file cannot be read; whoever went on would take it for one that holds nothing.
    """
    for file in journal_files(root, stream):
        if (file.segment, file.first) >= before:
            return
        try:
            data = file.path.read_bytes()
        except FileNotFoundError:
            continue
        found = scan(data)
        torn = found.damaged + (found.end < len(data))
        yield JournalContent(file=file, payloads=found.payloads, unreadable=torn)


def remove_journals(files: list[JournalFile]) -> None:
    """Delete journal files that parquet covers."""
    for file in files:
        with contextlib.suppress(FileNotFoundError):
            file.path.unlink()
    if files:
        sync_directory(files[0].path.parent)
