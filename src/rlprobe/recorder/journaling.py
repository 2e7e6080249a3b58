"""The journal files of one stream while they are written; outlives full disks and deleted directories."""

import contextlib
import sys
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Lock

from rlprobe.recording.files import AppendFile, sync_directory, sync_file
from rlprobe.recording.layout import EVENTS, JOURNAL, journal_name

FILE_BYTES = 4 << 20  # bytes after which a file is full: what a snapshot takes at once is whole files
WAITING_BYTES = 64 << 20  # bytes that wait in memory for a full disk to have space again


@dataclass(slots=True)
class StreamWriter:
    """Appends pieces (whole frames or lines) in order. Calls come under the session's lock, from one thread at a time.

    Attributes:
        name: path of the current file from a piece's first sequence number; the same file until `rotate`.
        allowed: whether a new file may be begun: not in a directory that is another recorder's by now.
        limit: bytes at which a file is full and the next piece begins another.
        lines: whether pieces are lines of a file that earlier segments began.
        size: bytes appended since the last `rotate`.
        rows: pieces' rows appended since the last `rotate`.
        total: pieces' rows appended so far.
        reached: first sequence number of the newest piece in a file; later files begin above it.
        left: files that were left and not synced since; a snapshot may leave frames in them.
    """

    name: Callable[[int], Path]
    allowed: Callable[[], bool] = lambda: True
    limit: int = sys.maxsize
    lines: bool = False
    size: int = 0
    rows: int = 0
    total: int = 0
    reached: int = -1
    file: AppendFile | None = None
    left: list[Path] = field(default_factory=list)
    waiting: deque[tuple[int, int, bytes]] = field(default_factory=deque)
    waiting_bytes: int = 0
    shut: bool = False

    def write(self, first: int, rows: int, piece: bytes) -> int:
        """Append a piece whose first frame is number `first`; what the disk refuses waits.

        Returns:
            rows that had to be dropped, because too much waits already.
        """
        if self.shut:
            return rows
        if self.waiting and not self.retry() and self.waiting_bytes + len(piece) > WAITING_BYTES:
            return rows
        if self.waiting or not self._append(first, rows, piece):
            self.waiting.append((first, rows, piece))
            self.waiting_bytes += len(piece)
        return 0

    def retry(self) -> bool:
        """Append what waits; whether nothing waits any more, and more can be written."""
        while self.waiting:
            first, rows, piece = self.waiting[0]
            if not self._append(first, rows, piece):
                return False
            self.waiting.popleft()
            self.waiting_bytes -= len(piece)
        return not self.shut

    def give_up(self) -> int:
        """Forget what waits; returns its rows."""
        rows = sum(rows for _, rows, _ in self.waiting)
        self.waiting.clear()
        self.waiting_bytes = 0
        return rows

    def shut_down(self) -> int:
        """Write nothing from here on, because the directory is another recorder's; returns the rows that waited."""
        self.rotate()
        self.shut = True
        return self.give_up()

    def forget(self) -> int:
        """Begin anew after everything was deleted; returns the rows that had been appended."""
        rows, self.total = self.total, 0
        self.rotate()
        return rows

    def _append(self, first: int, rows: int, piece: bytes) -> bool:
        if self.file is None:
            if not self.allowed():
                return False
            self.file = AppendFile(self.name(first), lines=self.lines)
        try:
            self.file.append(piece)
        except OSError:
            return False
        self.reached = first
        self.size += len(piece)
        self.rows += rows
        self.total += rows
        if self.file.size >= self.limit:
            self._leave()
        return True

    def rotate(self) -> None:
        """Let the next piece begin a new file (of a new name, where the name depends on the piece)."""
        self._leave()
        self.size = self.rows = 0

    def _leave(self) -> None:
        if self.file is not None:
            self.left.append(self.file.path)
            with contextlib.suppress(OSError):
                self.file.close()
        self.file = None

    def unsynced(self) -> list[Path]:
        """Files to sync: those that were left since the last call, and the one that is written now."""
        left, self.left = self.left, []
        return left if self.file is None else [*left, self.file.path]

    def lost(self) -> bool:
        """Whether the file was deleted under the writer."""
        return self.file is not None and self.file.removed()


@dataclass(frozen=True, slots=True, kw_only=True)
class Streams:
    """The three streams of a segment, and the lock under which whoever appends or rotates must be."""

    steps: StreamWriter
    samples: StreamWriter
    events: StreamWriter
    lock: Lock = field(default_factory=Lock)

    @classmethod
    def of(cls, root: Path, segment: int, allowed: Callable[[], bool]) -> "Streams":
        """Streams whose journal files are named after their first frame."""

        def journal(stream: str) -> StreamWriter:
            names = partial(_journal_path, root, stream, segment)
            return StreamWriter(names, allowed=allowed, limit=FILE_BYTES)

        events = StreamWriter(lambda first: root / EVENTS, allowed=allowed, lines=True)
        return cls(steps=journal("steps"), samples=journal("samples"), events=events)

    @property
    def all(self) -> tuple[StreamWriter, StreamWriter, StreamWriter]:
        """Steps, samples, events."""
        return (self.steps, self.samples, self.events)

    def retry(self) -> bool:
        """Append what the disk refused before; whether nothing waits any more."""
        with self.lock:
            return all([stream.retry() for stream in self.all])

    def sync(self) -> list[OSError]:
        """fsync what was appended, by name: the descriptors stay with the writer. What fails is due again."""
        failed: list[OSError] = []
        with self.lock:
            due = [(stream, path) for stream in self.all for path in stream.unsynced()]
        for stream, path in due:
            try:
                sync_file(path)
            except FileNotFoundError:  # parquet covers it by now
                continue
            except OSError as error:
                failed.append(error)
                with self.lock:
                    stream.left.append(path)
        for directory in {path.parent for _, path in due}:
            sync_directory(directory)
        return failed

    def leave_lost(self) -> int:
        """Begin new files where somebody deleted one; returns the rows that were in it."""
        with self.lock:
            lost = [stream for stream in self.all if stream.lost()]
            rows = sum(stream.rows for stream in lost)
            for stream in lost:
                stream.rotate()
        return rows

    def forget(self) -> int:
        """Begin anew after everything was deleted; returns the rows that were there."""
        with self.lock:
            return sum(stream.forget() for stream in self.all)

    def shut_down(self) -> int:
        """Write nothing from here on; returns the rows that waited."""
        with self.lock:
            return sum(stream.shut_down() for stream in self.all)

    def rotate(self) -> None:
        """Let go of every file."""
        for stream in self.all:
            stream.rotate()


def _journal_path(root: Path, stream: str, segment: int, first: int) -> Path:
    return root / JOURNAL / journal_name(stream, segment, first)
