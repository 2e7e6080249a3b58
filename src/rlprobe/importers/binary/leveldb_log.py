"""The log framing of LevelDB as wandb writes it: records in chunks, chunks in blocks of 32 KiB.

A chunk is a header of seven bytes (CRC-32 of type and data, length, type: 1 whole, 2 first, 3 middle, 4 last) and its
data; the last bytes of a block that hold no header are padding. wandb uses the plain CRC-32 of zlib where LevelDB uses
a masked CRC-32C, and begins the file with a header of its own.
Sources: https://github.com/google/leveldb/blob/main/doc/log_format.md; wandb 0.31.0 files.
"""

import struct
import zlib
from pathlib import Path
from typing import Final

from rlprobe.importers.binary.growing import GrowingFile

BLOCK: Final = 32 << 10
MAX_RECORD: Final = 32 << 20  # bytes; a longer record is left out and counted
_HEADER: Final = struct.Struct("<IHB")
_WHOLE, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4
_BLOCKS_A_READ: Final = 32


class LevelDbLog:
    """Hands out the records of a file, each once, in order.

    Args:
        path: the file.
        start: bytes before the first chunk, which count as part of the first block.

    Attributes:
        damaged: chunks and records that were left out: wrong checksum, impossible length, missing part.
        torn: whether the file ends inside a record: its writer was killed, or is about to write on.
    """

    def __init__(self, path: Path, *, start: int) -> None:
        self._file = GrowingFile(path)
        self._start = start
        self._position = start
        self._parts: list[bytes] = []
        self._part_bytes = 0
        self._open_record = False
        self.damaged = 0
        self.torn = False

    @property
    def restarts(self) -> int:
        """How often the file was replaced by a shorter one, and read from its start."""
        return self._file.restarts

    def take(self) -> list[bytes]:
        """The next records: those of the next megabyte; none when there is nothing new."""
        records: list[bytes] = []
        while not records:
            before, restarts = self._position, self._file.restarts
            size = self._file.size()
            if self._file.restarts != restarts:
                before = self._position = self._start
                self._drop()
            data = self._file.read(self._position, _BLOCKS_A_READ * BLOCK - self._position % BLOCK)
            self._chunks(data, records, at_end=self._position + len(data) >= size)
            if self._position == before:
                break
        return records

    def _chunks(self, data: bytes, records: list[bytes], *, at_end: bool) -> None:
        """Take whole chunks from the data, which begin at the position; stop at one that is not there as a whole."""
        self.torn = self._open_record
        offset = 0
        while offset < len(data):
            left_in_block = BLOCK - (self._position + offset) % BLOCK
            if left_in_block < _HEADER.size:
                offset += left_in_block
                continue
            if len(data) - offset < _HEADER.size:
                self.torn = True
                break
            checksum, length, kind = _HEADER.unpack_from(data, offset)
            possible = _WHOLE <= kind <= _LAST and _HEADER.size + length <= left_in_block
            if not possible and len(data) - offset < left_in_block and at_end:
                self.torn = True
                break  # a hole that a crash left, or one that is about to be filled
            if not possible:
                self.damaged += 1
                self._drop()
                offset += left_in_block
                continue
            body = data[offset + _HEADER.size : offset + _HEADER.size + length]
            if len(body) < length:
                self.torn = True
                break
            offset += _HEADER.size + length
            self._chunk(kind, body, records, sound=zlib.crc32(body, zlib.crc32(bytes((kind,)))) == checksum)
        self._position += min(offset, len(data))

    def _chunk(self, kind: int, body: bytes, records: list[bytes], *, sound: bool) -> None:
        begins = kind in (_WHOLE, _FIRST)
        if not sound or begins == self._open_record:
            self.damaged += 1
            self._drop()
            if not sound or not begins:
                return
        self._part_bytes += len(body)
        if self._part_bytes <= MAX_RECORD:
            self._parts.append(body)
        self._open_record = kind in (_FIRST, _MIDDLE)
        self.torn = self._open_record
        if self._open_record:
            return
        if self._part_bytes <= MAX_RECORD:
            records.append(b"".join(self._parts))
        else:
            self.damaged += 1
        self._drop()

    def _drop(self) -> None:
        self._parts, self._part_bytes, self._open_record = [], 0, False
