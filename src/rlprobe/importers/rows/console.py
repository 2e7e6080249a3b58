"""Rows of metrics among the other lines of a console log.

A console log is cleaned line by line: colours, the prefix that Ray or a launcher puts before a process's lines, and
Ray's remark on repeated lines go. What a line means is a `LineReader`'s business. A row that several processes print
counts once.
"""

import re
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Protocol

from rlprobe.importers.rows.aside import Aside
from rlprobe.importers.rows.decode import Row
from rlprobe.importers.rows.dumps import DUMP_MARKS, DumpReader
from rlprobe.importers.rows.lines import LineSource

_COLOUR = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|[@-Z\\-_])")
_PREFIX = re.compile(r"\s*(?:\((?:[\w.:-]+ )*pid=\d+[^)]{0,64}\)|\[(?:rank|default)?\d{1,5}\]:)\s?")
_REPEATED = re.compile(r"\s*\[repeated \d+x across cluster\].*")
_REMEMBERED: Final = 64  # newest rows among which a copy of another process is looked for


class LineReader(Protocol):
    """What one format makes of cleaned lines.

    Attributes:
        marks: one of these stands in every line that it makes something of; most lines of a console have none.
        unreadable: lines that began a row and could not be read.
        settings: canonical settings that the lines state.
        notes: what a person should know of the reading.
    """

    marks: tuple[bytes, ...]

    @property
    def unreadable(self) -> int: ...

    @property
    def settings(self) -> Mapping[str, object]: ...

    @property
    def notes(self) -> tuple[str, ...]: ...

    def rows(self, text: str, size: int) -> list[Row] | None:
        """The rows that a line completes, `size` being its bytes before cleaning; None when it tells no metrics."""
        ...

    def last(self, tail: str) -> tuple[list[Row], bool]:
        """Rows that need no further line, given the unfinished last one; and whether that one was read."""
        ...


class ConsoleRows:
    """The rows of a console log, as a source for a `RowFeed`."""

    def __init__(self, path: Path, reader: LineReader, aside: Aside) -> None:
        self._lines = LineSource(path)
        self._reader = reader
        self._aside = aside
        self._dumps = DumpReader()
        self._marks = (*reader.marks, *DUMP_MARKS)
        self._recent: deque[Row] = deque(maxlen=_REMEMBERED)
        self._copies = 0

    @property
    def unreadable(self) -> int:
        """Rows that could not be read, and lines beyond all bounds."""
        return self._reader.unreadable + self._lines.skipped

    @property
    def settings(self) -> Mapping[str, object]:
        """Settings that the lines state."""
        return self._reader.settings

    @property
    def notes(self) -> tuple[str, ...]:
        """What the reader says, and how many copies of rows were left out."""
        copies = (f"{self._copies} rows were printed again by another process; they count once.",)
        replaced = (f"the file was cut short or replaced {self._lines.restarts} times.",)
        return self._reader.notes + (copies if self._copies else ()) + (replaced if self._lines.restarts else ())

    def take(self, limit: int) -> list[Row]:
        """The next rows."""
        rows: list[Row] = []
        while not rows:
            lines = self._lines.take(limit)
            if not lines:
                return self._last()
            for line in lines:
                if self._dumps.open or self._marked(line):
                    self._take(line, rows)
        return rows

    def _marked(self, line: bytes) -> bool:
        return any(map(line.__contains__, self._marks))  # without a generator: this meets every line

    def _take(self, line: bytes, rows: list[Row]) -> None:
        prefix, text = cleaned(line)
        made = self._reader.rows(text, len(line))
        if made is None:
            self._watch(prefix, text)
        else:
            self._keep(made, rows)

    def _last(self) -> list[Row]:
        rows: list[Row] = []
        made, used = self._reader.last(cleaned(self._lines.tail.strip(b" \t\0"))[1])
        if used:
            self._lines.take_tail()
        self._keep(made, rows)
        return rows

    def _keep(self, made: list[Row], rows: list[Row]) -> None:
        for row in made:
            if "step" in row and row in self._recent:
                self._copies += 1
                continue
            self._recent.append(row)
            rows.append(row)

    def _watch(self, prefix: str, text: str) -> None:
        found = self._dumps.watch(prefix, text)
        if found is not None:
            self._aside.configuration.update(found)


def cleaned(line: bytes) -> tuple[str, str]:
    """The launcher's prefix of a line, and its text without that, without colours and without Ray's remark."""
    if b"\x1b" in line:
        line = _COLOUR.sub(b"", line)
    text = line.decode("utf-8", "replace")
    prefix = ""
    if (match := _PREFIX.match(text)) is not None:
        prefix, text = match.group(), text[match.end() :]
    if "[repeated " in text:
        text = _REPEATED.sub("", text)
    return prefix, text


def is_text(head: bytes) -> bool:
    """Whether a file that begins so can be a console log: not a JSON document, nor lines of JSON."""
    return bool(head) and not re.match(rb'\s*(?:\{\s*"|\[\s*[\[{\]])', head[:4096])


def cleaned_head(head: bytes) -> bytes:
    """The start of a log without colours, every `\\r` an end of line."""
    return _COLOUR.sub(b"", head).replace(b"\r", b"\n")
