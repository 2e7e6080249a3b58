"""CSV, TSV and Markdown tables: a header of keys, one logged row a line (plain or gzip).

A chart that wandb exports names each column `RUN - KEY`, with its extremes of the same step beside it; where all
columns are of one run they are read by their key.
"""

import csv
import re
from collections.abc import Mapping
from pathlib import Path

from rlprobe.importers.rows.decode import Row
from rlprobe.importers.rows.feed import RowFeed
from rlprobe.importers.rows.lines import LineSource
from rlprobe.importers.rows.plan import knows_metric
from rlprobe.importers.rows.steps import STEP_KEY_SET
from rlprobe.importers.rows.values import BAD, number
from rlprobe.recording.run import Feed

NAME = "csv"
EXPECTS = "CSV, TSV or a Markdown table: a header line with metric names, then numbers"
GENERIC = True

_DELIMITERS = (",", "\t", ";", "|")
_RULER = re.compile(r"[\s|:-]*-[\s|:-]*")  # between a Markdown table's header and its rows
_CHARTED = re.compile(r"(?P<run>.+?) - (?P<key>.+?)(?P<extreme>__(?:MIN|MAX))?")  # a column of wandb's export


def sniff(path: Path, head: bytes) -> bool:
    """Whether the first line is a header with a metric or a step in it, and the second line holds numbers."""
    lines = [line for line in head.decode("utf-8", "replace").splitlines() if line.strip() and not _ruler(line)][:2]
    if len(lines) < 2 or lines[0].lstrip()[:1] in "{[":
        return False
    delimiter = delimiter_of(lines[0])
    header, first = _fields(lines[0], delimiter), _fields(lines[1], delimiter)
    if header is None or first is None or len(header) < 2 or len(first) > len(header):
        return False
    named = any(key in STEP_KEY_SET or knows_metric(key) for key in header)
    return named and all(number(key)[1] == BAD for key in header) and any(number(cell)[1] != BAD for cell in first)


def read(path: Path, keys: Mapping[str, str] | None = None, run: int | None = None) -> Feed:
    """The feed of a file's rows; it goes on where it stopped as the file grows."""
    return RowFeed(str(path), NAME, _Rows(path), keys, run)


def delimiter_of(header: str) -> str:
    """The delimiter that splits a header into the most fields."""
    return max(_DELIMITERS, key=header.count)


def _ruler(line: str) -> bool:
    return "|" in line and _RULER.fullmatch(line) is not None


def _uncharted(header: list[str]) -> list[str]:
    """The header without the name of the run that wandb's export puts before each key; "" for the extremes."""
    charted = [match for match in map(_CHARTED.fullmatch, header) if match is not None]
    if not any(match["extreme"] for match in charted) or len({match["run"] for match in charted}) != 1:
        return header
    return [
        key if (match := _CHARTED.fullmatch(key)) is None else "" if match["extreme"] else match["key"]
        for key in header
    ]


def _fields(line: str, delimiter: str) -> list[str] | None:
    if delimiter == "|":
        return [cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split("|")]
    try:
        return next(csv.reader([line], delimiter=delimiter, skipinitialspace=True), None)
    except csv.Error:  # a field beyond the reader's limit, or an unclosed quote
        return None


class _Rows:
    """The rows after the header. A last line without an end may be cut inside a number, so it waits for its end."""

    def __init__(self, path: Path) -> None:
        self._lines = LineSource(path)
        self._header: list[str] | None = None
        self._keys: list[str] = []
        self._delimiter = ","
        self._bad_lines = 0
        self.settings: Mapping[str, object] = {}

    @property
    def unreadable(self) -> int:
        """Lines that did not fit the header, and a last line without an end."""
        return self._bad_lines + self._lines.skipped + bool(self._lines.tail.strip(b" \t\0"))

    @property
    def notes(self) -> tuple[str, ...]:
        """Whether the last line was left out."""
        return ("the last line has no line end and was left out: it may be cut.",) if self._lines.tail.strip() else ()

    def take(self, limit: int) -> list[Row]:
        """The next rows."""
        rows: list[Row] = []
        while not rows and (lines := self._lines.take(limit)):
            for line in lines:
                self._take(line.decode("utf-8", "replace"), rows)
        return rows

    def _take(self, line: str, rows: list[Row]) -> None:
        if self._header is None:
            self._delimiter = delimiter_of(line)
            self._header = _fields(line, self._delimiter) or []
            self._keys = _uncharted(self._header)
            return
        cells = _fields(line, self._delimiter)
        if cells == self._header or (self._delimiter == "|" and _ruler(line)):  # appended by another session
            return
        if cells is None or len(cells) > len(self._header):
            self._bad_lines += 1
            return
        rows.append({key: cell for key, cell in zip(self._keys, cells, strict=False) if key})
