"""JSON Lines: one object a logged row, whoever logged it (plain or gzip)."""

from collections.abc import Mapping
from pathlib import Path

from rlprobe.importers.rows.decode import decode
from rlprobe.importers.rows.feed import RowFeed
from rlprobe.importers.rows.json_rows import JsonRows
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
    return RowFeed(str(path), NAME, JsonRows(path), keys, run)
