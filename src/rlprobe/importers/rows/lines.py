"""The complete lines of a log file that may still grow, in bounded memory.

Reads plain and gzip files; UTF-8 with or without a byte order mark and UTF-16 become UTF-8; `\\n`, `\\r\\n` and `\\r` end
a line. A file that was cut short or replaced is read again from its start. Knows nothing of what the lines say.
"""

import codecs
import gzip
import io
import os
import re
import zlib
from pathlib import Path
from typing import Final

_CHUNK: Final = 1 << 20  # bytes a read
MAX_LINE: Final = 32 << 20  # bytes; a longer line is skipped and counted
_GZIP: Final = b"\x1f\x8b"
_LINE_END = re.compile(rb"[\r\n]+")


def head_of(path: Path, size: int) -> bytes:
    """The first bytes of a file's text as UTF-8, decompressed.

    Raises:
        OSError: the file cannot be read.
    """
    with open(path, "rb") as file:
        start = file.read(size)
    if start.startswith(_GZIP):
        start = _inflated(start, size)
    decoder = decoder_for(start)
    return start if decoder is None else decoder.decode(start).encode("utf-8", "replace")


def _inflated(start: bytes, size: int) -> bytes:
    try:
        return zlib.decompressobj(wbits=31).decompress(start, size)
    except zlib.error:
        return b""


def decoder_for(start: bytes) -> codecs.IncrementalDecoder | None:
    """What turns a file that begins so into text; None when its bytes are UTF-8 (or plain ASCII) already."""
    if start.startswith(codecs.BOM_UTF8):
        return codecs.getincrementaldecoder("utf-8-sig")("replace")
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return codecs.getincrementaldecoder("utf-16")("replace")
    if len(start) >= 4 and start[1] == 0 and start[3] == 0 and start[0]:
        return codecs.getincrementaldecoder("utf-16-le")("replace")
    if len(start) >= 4 and start[0] == 0 and start[2] == 0 and start[1]:
        return codecs.getincrementaldecoder("utf-16-be")("replace")
    return None


class LineSource:
    """Hands out the lines of one file, each once, in order.

    Attributes:
        skipped: lines left out because they were too long, and places where compressed data were damaged.
        restarts: how often the file was found cut short or replaced.
        tail: the bytes after the last line end, at the end of the file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: io.BufferedIOBase | None = None
        self._inode = -1
        self._compressed = False
        self._decoder: codecs.IncrementalDecoder | None = None
        self._overlong = False
        self._ready: list[bytes] = []
        self.skipped = 0
        self.restarts = 0
        self.tail = b""

    def take(self, limit: int) -> list[bytes]:
        """At most `limit` new lines without their ends, blank ones left out; an empty list when there is nothing new."""
        while len(self._ready) < limit and (chunk := self._read()):
            self._split(chunk)
        lines, self._ready = self._ready[:limit], self._ready[limit:]
        return lines

    def take_tail(self) -> bytes:
        """The unfinished last line, which counts as read from here on."""
        tail, self.tail = self.tail, b""
        return tail

    def close(self) -> None:
        """Let the file go; a later `take` opens it anew only if it was replaced."""
        if self._file is not None:
            self._file.close()

    def _read(self) -> bytes:
        try:
            if self._file is None or self._replaced():
                self._open()
            assert self._file is not None
            return self._file.read(_CHUNK)
        except (EOFError, zlib.error, gzip.BadGzipFile):
            self.skipped += 1
            self._file = io.BytesIO()  # what was readable has been read
            return b""
        except OSError:
            return b""

    def _open(self) -> None:
        self.close()
        raw = open(self._path, "rb")  # noqa: SIM115  # stays open: the source follows the file
        start = raw.read(64)
        raw.seek(0)
        self._compressed = start.startswith(_GZIP)
        self._inode = os.fstat(raw.fileno()).st_ino
        self._file = gzip.GzipFile(fileobj=raw) if self._compressed else raw
        self._decoder = decoder_for(self._file.peek(64)[:64])
        self.tail = b""
        self._overlong = False

    def _replaced(self) -> bool:
        """Whether, at the end of what is open, another or a shorter file lies under the path."""
        if self._compressed or self._file is None or isinstance(self._file, io.BytesIO):
            return False
        state = os.stat(self._path)
        position = self._file.tell()
        if state.st_ino == self._inode and state.st_size >= position:
            return False
        if state.st_ino != self._inode and position < os.fstat(self._file.fileno()).st_size:
            return False  # the old file first
        self.restarts += 1
        return True

    def _split(self, chunk: bytes) -> None:
        if self._decoder is not None:
            chunk = self._decoder.decode(chunk).encode("utf-8", "replace")
        pieces = (
            _LINE_END.split(self.tail + chunk if self.tail else chunk) if not self._overlong else self._resume(chunk)
        )
        self.tail = pieces.pop()
        self._ready.extend(line for line in (piece.strip(b" \t\0") for piece in pieces) if line)
        if len(self.tail) > MAX_LINE:
            self.tail = b""
            self._overlong = True
            self.skipped += 1

    def _resume(self, chunk: bytes) -> list[bytes]:
        """The pieces of a chunk after the end of a line that was too long."""
        end = _LINE_END.search(chunk)
        if end is None:
            return [b""]
        self._overlong = False
        return _LINE_END.split(chunk[end.end() :])
