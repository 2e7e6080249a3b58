"""The complete lines of a log file that may still grow, in bounded memory.

Reads plain and gzip files. UTF-8 with or without a byte order mark and UTF-16 become UTF-8. A line ends at `\\n`,
`\\r\\n` or `\\r`. A file that was cut short or replaced is read again from its start. Knows nothing of what the
lines say.
"""

import codecs
import gzip
import io
import os
import zlib
from pathlib import Path
from typing import Final

_CHUNK: Final = 1 << 20  # bytes a read
MAX_LINE: Final = 32 << 20  # bytes; a longer line is skipped and counted
_MAX_HELD: Final = 64 << 20  # bytes of lines that are handed out together, beyond the first
_START: Final = 64  # bytes that tell whether a file is still the same
_GZIP: Final = b"\x1f\x8b"
_GZIP_END: Final = 8  # bytes of checksum and length after the data


def head_of(path: Path, size: int) -> bytes:
    """The first bytes of a file's text as UTF-8, decompressed.

    Raises:
        OSError: the file cannot be read.
    """
    start = raw_head_of(path, size)
    if start.startswith(_GZIP):
        start = _inflated(start, size)
    decoder = decoder_for(start)
    return start if decoder is None else decoder.decode(start).encode("utf-8", "replace")


def raw_head_of(path: Path, size: int) -> bytes:
    """The first bytes of a file as they are.

    Raises:
        OSError: the file cannot be read.
    """
    with open(path, "rb") as file:
        return file.read(size)


def _inflated(start: bytes, size: int) -> bytes:
    """What can be decompressed of a beginning: a wrong checksum at the end takes nothing of what stands before it."""
    inflater, text = zlib.decompressobj(wbits=31), b""
    try:
        for piece in (start[:-_GZIP_END], start[-_GZIP_END:]):
            if len(text) < size:
                text += inflater.decompress(piece, size - len(text))
    except zlib.error:
        pass
    return text


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
    """Hands out the lines of one file, each once, in order. The file is open only while it is being read to its end.

    A gzip file is read once; any other goes on at the byte where it stopped.

    Attributes:
        skipped: lines left out because they were too long, and places where compressed data were damaged.
        restarts: how often the file was found cut short or replaced.
        tail: the bytes after the last line end, at the end of the file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: io.BufferedReader | gzip.GzipFile | None = None
        self._raw: io.BufferedReader | None = None
        self._offset = 0
        self._start = b""
        self._finished = False
        self._decoder: codecs.IncrementalDecoder | None = None
        self._overlong = False
        self._ready: list[bytes] = []
        self.skipped = 0
        self.restarts = 0
        self.tail = b""

    def take(self, limit: int) -> list[bytes]:
        """At most `limit` new lines without their ends, blank ones left out; none when there is nothing new."""
        held = sum(map(len, self._ready))
        while len(self._ready) < limit and (held < _MAX_HELD or not self._ready) and (chunk := self._read()):
            held += len(chunk)
            self._split(chunk)
        lines, self._ready = self._ready[:limit], self._ready[limit:]
        return lines

    def take_tail(self) -> bytes:
        """The unfinished last line, which counts as read from here on."""
        tail, self.tail = self.tail, b""
        return tail

    def _read(self) -> bytes:
        chunk = b""
        try:
            if self._file is None and not self._finished:
                self._open()
            if self._file is not None:
                chunk = self._file.read1(_CHUNK)  # read() would drop what it has when it meets damage
        except (EOFError, zlib.error, gzip.BadGzipFile):
            self.skipped += 1
        except OSError:
            pass  # the file is gone for now; the next poll looks again
        self._offset += len(chunk)
        if not chunk:
            self._close()
        return chunk

    def _open(self) -> None:
        self._raw = open(self._path, "rb")  # noqa: SIM115  # closed at its end
        start = self._raw.read(_START)
        size = os.fstat(self._raw.fileno()).st_size
        if size < self._offset or not start.startswith(self._start):
            self.restarts += 1
            self._offset, self.tail, self._overlong = 0, b"", False
        if self._offset == 0:
            self._decoder = decoder_for(_inflated(start, _START) if start.startswith(_GZIP) else start)
        self._start = start
        self._raw.seek(self._offset)
        self._file = self._raw
        if start.startswith(_GZIP):
            self._raw.seek(0)
            self._file = gzip.GzipFile(fileobj=self._raw)
            self._finished = True

    def _close(self) -> None:
        if self._raw is not None:
            self._raw.close()
        self._raw = self._file = None

    def _split(self, chunk: bytes) -> None:
        if self._decoder is not None:
            chunk = self._decoder.decode(chunk).encode("utf-8", "replace")
        if b"\r" in chunk:
            chunk = chunk.replace(b"\r", b"\n")
        pieces = self._after_overlong(chunk) if self._overlong else (self.tail + chunk).split(b"\n")
        self.tail = pieces.pop()
        self._ready.extend(line for line in (piece.strip(b" \t\0") for piece in pieces) if line)
        if len(self.tail) > MAX_LINE:
            self.tail = b""
            self._overlong = True
            self.skipped += 1

    def _after_overlong(self, chunk: bytes) -> list[bytes]:
        """The pieces of a chunk after the end of a line that was too long."""
        _, end, rest = chunk.partition(b"\n")
        self._overlong = not end
        return rest.split(b"\n")
