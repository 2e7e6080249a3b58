"""The journal files of one stream while they are written; outlives full disks and deleted directories."""

import contextlib
import os
import sys
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from rlprobe.recording.files import AppendFile
from rlprobe.recording.layout import JOURNAL, journal_name

FILE_BYTES = 8 << 20  # bytes after which a file is full: what a snapshot takes at once is whole files
WAITING_BYTES = 64 << 20  # bytes that wait in memory for a full disk to have space again


@dataclass(slots=True)
class StreamWriter:
    """Appends pieces (whole frames or lines) in order. Calls come under the session's lock, from one thread at a time.

    Attributes:
        name: path of the current file from a piece's first sequence number; the same file until `rotate`.
        limit: bytes at which a file is full and the next piece begins another.
        size: bytes appended since the last `rotate`.
        rows: pieces' rows appended since the last `rotate`.
        reached: first sequence number of the newest piece in a file; later files begin above it.
        full: files that were left full and not synced since.
    """

    name: Callable[[int], Path]
    limit: int = sys.maxsize
    size: int = 0
    rows: int = 0
    reached: int = -1
    file: AppendFile | None = None
    full: list[Path] = field(default_factory=list)
    waiting: deque[tuple[int, int, bytes]] = field(default_factory=deque)
    waiting_bytes: int = 0

    def write(self, first: int, rows: int, piece: bytes) -> int:
        """Append a piece whose first frame is number `first`; what the disk refuses waits.

        Returns:
            rows that had to be dropped, because too much waits already.
        """
        if self.waiting and not self.retry() and self.waiting_bytes + len(piece) > WAITING_BYTES:
            return rows
        if self.waiting or not self._append(first, rows, piece):
            self.waiting.append((first, rows, piece))
            self.waiting_bytes += len(piece)
        return 0

    def retry(self) -> bool:
        """Append what waits; whether nothing waits any more."""
        while self.waiting:
            first, rows, piece = self.waiting[0]
            if not self._append(first, rows, piece):
                return False
            self.waiting.popleft()
            self.waiting_bytes -= len(piece)
        return True

    def give_up(self) -> int:
        """Forget what waits; returns its rows."""
        rows = sum(rows for _, rows, _ in self.waiting)
        self.waiting.clear()
        self.waiting_bytes = 0
        return rows

    def _append(self, first: int, rows: int, piece: bytes) -> bool:
        if self.file is None:
            self.file = AppendFile(self.name(first))
        try:
            self.file.append(piece)
        except OSError:
            return False
        self.reached = first
        self.size += len(piece)
        self.rows += rows
        if self.file.size >= self.limit:
            self.full.append(self.file.path)
            self._leave()
        return True

    def rotate(self) -> None:
        """Let the next piece begin a new file (of a new name, where the name depends on the piece)."""
        self._leave()
        self.size = self.rows = 0

    def _leave(self) -> None:
        if self.file is not None:
            with contextlib.suppress(OSError):
                self.file.close()
        self.file = None

    def unsynced(self) -> list[Path]:
        """Files to sync: those that were full since the last call, and the one that is written now."""
        full, self.full = self.full, []
        return full if self.file is None else [*full, self.file.path]

    def lost(self) -> bool:
        """Whether the file was deleted under the writer."""
        try:
            return (
                self.file is not None and (self.file.removed() or not os.path.exists(self.file.path)) and self.size > 0
            )
        except OSError:
            return True


def journal_stream(root: Path, stream: str, segment: int) -> StreamWriter:
    """A stream whose files are named after their first frame."""
    return StreamWriter(lambda first: root / JOURNAL / journal_name(stream, segment, first), limit=FILE_BYTES)
