"""One JSON document of rows: transformers' `trainer_state.json`, a list of objects, or an object
that holds such a list or equally long lists."""

import gzip
import json
import re
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from rlprobe.importers.rows.decode import Row, decode, row_of
from rlprobe.importers.rows.feed import RowFeed
from rlprobe.recording.run import Feed

NAME = "json"
EXPECTS = "one JSON document of rows: trainer_state.json, a list of objects, or an object of lists"
GENERIC = True

MAX_BYTES: Final = 512 << 20  # a document is read whole
_LISTS = re.compile(rb'\{\s*"[^"]*"\s*:\s*\[')  # an object whose first value is a list
_STATE_SETTINGS: Final = ("logging_steps", "max_steps")  # what trainer_state.json states beside its rows


def sniff(path: Path, head: bytes) -> bool:
    """Whether the text begins as a list of objects, as an object over several lines, or as an object of lists."""
    text = head.lstrip(b" \t\r\n")
    if text.startswith(b"["):
        return text[1:].lstrip()[:1] in (b"{", b"]")
    if not text.startswith(b"{"):
        return False
    line, ended, rest = text.replace(b"\r", b"\n").partition(b"\n")
    if ended and decode(line) is None:
        return text[1:].lstrip(b" \t\r\n")[:1] == b'"' and not rest.lstrip().startswith(b"{")
    if len(head) == len(line) and not line.rstrip().endswith(b"}"):
        return b'"log_history"' in line or _LISTS.match(line) is not None  # the line is longer than the head
    return not rest.strip() and bool(rows_in(decode(line)))


def read(path: Path, keys: Mapping[str, str] | None = None, run: int | None = None) -> Feed:
    """The feed of a document's rows; a document written anew gives the rows that were added."""
    return RowFeed(str(path), NAME, DocumentRows(lambda: path), keys, run)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """What one reading of a document gave: its rows, how many were none, and what stands beside them."""

    rows: list[Row]
    unreadable: int = 0
    settings: dict[str, object] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def parse(document: object) -> Parsed:
    """The rows of a document of rows, with the settings that trainer_state.json states beside them."""
    settings: dict[str, object] = {}
    if isinstance(document, dict) and "log_history" in document:
        settings = {name: document[name] for name in _STATE_SETTINGS if _is_count(document.get(name))}
    rows = rows_in(document)
    return Parsed(rows=[row for row in rows if row is not None], unreadable=rows.count(None), settings=settings)


class DocumentRows:
    """The rows of a document, read again when the file changes.

    Args:
        locate: tells which file it is; a newer one holds the rows of the older ones.
        parse: what the decoded document holds.
    """

    def __init__(self, locate: Callable[[], Path], parse: Callable[[object], Parsed] = parse) -> None:
        self._locate = locate
        self._parse = parse
        self._state: tuple[Path, int, int] | None = None
        self._rows: list[Row] = []
        self._given = 0
        self.unreadable = 0
        self.settings: dict[str, object] = {}
        self.notes: tuple[str, ...] = ()

    def take(self, limit: int) -> list[Row]:
        """The next rows."""
        if self._given >= len(self._rows):
            self._load()
        taken = self._rows[self._given : self._given + limit]
        self._given += len(taken)
        return taken

    def _load(self) -> None:
        try:
            path = self._locate()
            now = path, path.stat().st_mtime_ns, path.stat().st_size
            if self._state == now:
                return
            self._state = now
            document = json.loads(text_of(path))
        except (OSError, ValueError, RecursionError, zlib.error, EOFError):
            self.unreadable += 1
            return
        parsed = self._parse(document)
        self.unreadable += parsed.unreadable
        self.settings = self.settings | parsed.settings
        self.notes = parsed.notes
        if len(parsed.rows) >= self._given:
            self._rows = parsed.rows


def rows_in(document: object) -> list[Row | None]:
    """The rows of a document, None for each that is no object: its longest list of objects, or its columns."""
    if isinstance(document, dict):
        lists = [document.get("log_history"), *document.values()]
        document = next(filter(_is_rows, lists[:1]), None) or max(filter(_is_rows, lists), key=len, default=document)
    if isinstance(document, dict):
        return list(_transposed(document))
    return [row_of(each) for each in document] if isinstance(document, list) else []


def _is_count(value: object) -> bool:
    return isinstance(value, int) and value > 0  # -1 stands for "not set"


def _is_rows(value: object) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def text_of(path: Path) -> bytes:
    """The bytes of a document, decompressed.

    Raises:
        OSError, EOFError, zlib.error: it cannot be read.
        ValueError: it is too large to be read whole.
    """
    with open(path, "rb") as file:
        start = file.read(2)
    opened = gzip.open(path, "rb") if start == b"\x1f\x8b" else open(path, "rb")  # noqa: SIM115  # closed below
    with opened as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise ValueError("too large to be read whole")
    return data


def _transposed(document: Mapping[str, object]) -> list[Row]:
    """Rows of an object of lists; the longest length that two lists share decides which lists are columns."""
    lists = {key: value for key, value in document.items() if isinstance(value, list) and len(value) > 1}
    lengths = [len(value) for value in lists.values()]
    if not lengths:
        return []
    length = max(lengths, key=lambda each: (lengths.count(each), each))
    columns = {key: value for key, value in lists.items() if len(value) == length}
    return [{key: value[row] for key, value in columns.items()} for row in range(length)]
