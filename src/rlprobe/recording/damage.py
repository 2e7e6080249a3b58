"""Parquet files as they come back from a disk: opened with every checksum looked at, and kept aside when damaged.

Pages have checksums of parquet's own. The footer has none, and a bit of it that flips can end the process that reads
it, so it gets one here, which is looked at before anything is read from it.
"""

import contextlib
import itertools
import os
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from rlprobe.recording.frames import NOTHING, Position
from rlprobe.recording.layout import CHECK, COVERS, FORMAT, MAJOR, MINOR

DAMAGE = (OSError, pa.ArrowException, ValueError, KeyError, IndexError)  # what a damaged parquet file raises
_END = 8  # bytes behind the footer: its length, and four letters
_UNSEALED = b"00000000"
_PLACE = CHECK + b"\x18\x08"  # the key in a footer, and what thrift writes between a key and a value of eight bytes
_SEARCHED = 1 << 16  # bytes in which the key is looked for where the footer's length is damaged


def refused(error: BaseException) -> bool:
    """Whether the system refused to open or read a file (no descriptor left, a disk that fails): it may be whole."""
    return isinstance(error, OSError) and error.errno is not None


def open_parquet(path: Path) -> pq.ParquetFile:
    """An open file; whoever reads a page of it learns when a bit of that page was changed.

    Raises:
        DAMAGE: it cannot be read, or its footer is not what was written.
    """
    with path.open("rb") as file:
        footer, place = _footer(file)
    if place is not None:
        told = footer[place : place + len(_UNSEALED)]
        if told != _checksum(footer, place):
            raise ValueError(f"{path.name}: the checksum of its footer does not fit")
    return pq.ParquetFile(_spoken(path), page_checksum_verification=True)


def metadata_of_file(path: Path) -> pq.FileMetaData:
    """A parquet file's metadata."""
    return pq.ParquetFile(_spoken(path)).metadata


def _spoken(path: Path) -> Path | pa.BufferReader:
    """A path as it is, or the file's content where Arrow, which takes UTF-8 alone, cannot say its name."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return pa.BufferReader(path.read_bytes())
    return path


def open_for_arrow(path: Path) -> pa.NativeFile:
    """A new file for Arrow to write, whatever its name."""
    try:
        return pa.OSFile(str(path), "wb")
    except UnicodeEncodeError:
        return pa.PythonFile(path.open("wb"), mode="w")


def seal(path: Path) -> None:
    """Enter the footer's checksum into a file that is whole but for that."""
    with path.open("r+b") as file:
        footer, place = _footer(file)
        if place is not None:
            file.seek(place - len(footer) - _END, os.SEEK_END)
            file.write(_checksum(footer, place))


def _footer(file: BinaryIO) -> tuple[bytes, int | None]:
    """The footer, and where in it the checksum stands; None for a file that has none."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _END))
    length = int.from_bytes(file.read(4), "little")
    start = size - _END - length
    first = max(0, min(start, size - _END - _SEARCHED))
    file.seek(first)
    tail = file.read(max(0, size - _END - first))
    found = tail.rfind(_PLACE)
    if found < 0:
        return tail[max(0, start - first) :], None
    place = found + len(_PLACE) - (start - first)
    if place < 0 or start < 0:
        raise ValueError("the footer is shorter or longer than it says")
    return tail[start - first :], place


def _checksum(footer: bytes, place: int) -> bytes:
    rest = zlib.crc32(footer[place + len(_UNSEALED) :], zlib.crc32(_UNSEALED, zlib.crc32(footer[:place])))
    return b"%08x" % rest


def parse_covers(metadata: Mapping[bytes, bytes] | None) -> Position:
    """The position in a parquet file's metadata; NOTHING when it has none."""
    segment, _, sequence = (metadata or {}).get(COVERS, b"").partition(b":")
    return (int(segment), int(sequence)) if segment and sequence else NOTHING


def covers_metadata(covers: Position) -> dict[bytes, bytes]:
    """The key-value metadata of a parquet file that covers frames up to a position, with room for its seal."""
    return {COVERS: b"%d:%d" % covers, b"rlprobe.format": f"{FORMAT}/{MAJOR}.{MINOR}".encode(), CHECK: _UNSEALED}


def set_aside(path: Path, move: Callable[[Path, Path], object] = os.rename) -> None:
    """Keep a damaged file under another name, for `validate --repair` and for people."""
    for number in itertools.count():
        aside = path.with_name(f"{path.name}.damaged-{number}")
        if not aside.exists():
            with contextlib.suppress(FileNotFoundError):
                move(path, aside)
            return
