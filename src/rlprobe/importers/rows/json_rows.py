"""JSON Lines as rows: one object a logged row."""

from collections.abc import Mapping
from pathlib import Path

from rlprobe.importers.rows.decode import Row, decode, row_of
from rlprobe.importers.rows.lines import LineSource


def first_object(head: bytes) -> Mapping[str, object]:
    """The object of the first line; empty when that is none, or is longer than the head."""
    line, _, _ = head.lstrip(b"\0 \t\r\n").replace(b"\r", b"\n").partition(b"\n")
    value = decode(line) if line.startswith(b"{") else None
    return value if isinstance(value, dict) else {}


class JsonRows:
    """The rows of a file of JSON Lines; it goes on where it stopped as the file grows."""

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
