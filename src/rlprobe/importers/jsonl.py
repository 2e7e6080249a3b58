"""JSON Lines: one object a logged row, whoever logged it (plain or gzip)."""

from collections.abc import Mapping
from pathlib import Path

from rlprobe.importers.rows.decode import Row, decode, row_of
from rlprobe.importers.rows.feed import RowFeed
from rlprobe.importers.rows.lines import LineSource
from rlprobe.recording.run import Feed

NAME = "jsonl"
EXPECTS = "JSON Lines: one JSON object of metrics a line"
GENERIC = True


def sniff(path: Path, head: bytes) -> bool:
    """Whether the first line is a JSON object, or the start of one that is longer than the head."""
    line, ended, _ = head.lstrip(b"\0 \t\r\n").replace(b"\r", b"\n").partition(b"\n")
    if not line.startswith(b"{"):
        return False
    if not ended and not line.rstrip().endswith(b"}"):
        return line[1:].lstrip()[:1] == b'"'
    return isinstance(decode(line), dict)


def read(path: Path, keys: Mapping[str, str] | None = None, run: int | None = None) -> Feed:
    """The feed of a file's rows; it goes on where it stopped as the file grows."""
    return RowFeed(str(path), NAME, _Rows(path), keys, run)


class _Rows:
    def __init__(self, path: Path) -> None:
        self._lines = LineSource(path)
        self._bad_lines = 0
        self.settings: Mapping[str, object] = {}

    @property
    def unreadable(self) -> int:
        """Lines that were no JSON objects, an unfinished last one included."""
        return self._bad_lines + self._lines.skipped + bool(self._lines.tail.strip(b" \t\0"))

    @property
    def notes(self) -> tuple[str, ...]:
        """Whether the file was replaced while it was followed."""
        return (f"the file was cut short or replaced {self._lines.restarts} times.",) if self._lines.restarts else ()

    def take(self, limit: int) -> list[Row]:
        """The next rows."""
        rows: list[Row] = []
        while not rows:
            lines = self._lines.take(limit)
            if not lines:
                return self._last_line()
            for line in lines:
                row = row_of(decode(line))
                if row is None:
                    self._bad_lines += 1
                else:
                    rows.append(row)
        return rows

    def _last_line(self) -> list[Row]:
        """The row of the line without an end, if it is a whole object (a cut one cannot be)."""
        tail = self._lines.tail.strip(b" \t\0")
        row = row_of(decode(tail)) if tail.endswith(b"}") else None
        if row is None:
            return []
        self._lines.take_tail()
        return [row]
