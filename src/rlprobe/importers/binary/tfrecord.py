"""TFRecord framing: length, masked CRC-32C of the length, data, masked CRC-32C of the data.

Source: https://github.com/tensorflow/tensorflow/blob/v2.16.1/tensorflow/core/lib/io/record_writer.cc.
"""

import struct
from functools import lru_cache
from pathlib import Path
from typing import Final

from rlprobe.importers.binary.growing import GrowingFile

MAX_RECORD: Final = 1 << 20  # bytes; longer ones hold graphs and images, never numbers, and are stepped over
_READ: Final = 2 << 20  # bytes a read; more than the longest record
_HEADER: Final = struct.Struct("<QI")
_FOOTER: Final = struct.Struct("<I")
_POLYNOMIAL: Final = 0x82F63B78  # Castagnoli, bits reversed
_MASK_DELTA: Final = 0xA282EAD8


def _table() -> tuple[int, ...]:
    entries = []
    for value in range(256):
        for _ in range(8):
            value = (value >> 1) ^ _POLYNOMIAL if value & 1 else value >> 1
        entries.append(value)
    return tuple(entries)


_TABLE: Final = _table()


def masked_crc32c(data: bytes) -> int:
    """The checksum of the framing: CRC-32C, rotated by 15 bits, plus a constant."""
    crc, table = 0xFFFFFFFF, _TABLE
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return (((crc >> 15) | (crc << 17)) + _MASK_DELTA) & 0xFFFFFFFF


_length_checksum = lru_cache(maxsize=4096)(masked_crc32c)  # lengths repeat


def begins_with_record(head: bytes) -> bool:
    """Whether the bytes begin with the header of a record."""
    return len(head) >= _HEADER.size and masked_crc32c(head[:8]) == _HEADER.unpack_from(head)[1]


class TfRecords:
    """Hands out the records of a file, each once, in order.

    Attributes:
        damaged: records with a wrong checksum; the file cannot be read beyond a wrong length.
        torn: whether the file ends inside a record.
        long: records that were stepped over because of their size.
    """

    def __init__(self, path: Path) -> None:
        self._file = GrowingFile(path)
        self._position = 0
        self._lost = False
        self.damaged = 0
        self.torn = False
        self.long = 0

    def take(self) -> list[bytes]:
        """The next records; none when there is nothing new."""
        records: list[bytes] = []
        while not records and not self._lost:
            restarts, before = self._file.restarts, self._position
            size = self._file.size()
            if self._file.restarts != restarts:
                before = self._position = 0
            data = self._file.read(self._position, _READ)
            self._records(data, records, size)
            if self._position == before:
                break
        return records

    def _records(self, data: bytes, records: list[bytes], size: int) -> None:
        offset = 0
        self.torn = False
        while offset + _HEADER.size <= len(data):
            length, checksum = _HEADER.unpack_from(data, offset)
            if _length_checksum(data[offset : offset + 8]) != checksum:
                self.damaged += 1
                self._lost = True
                return
            end = offset + _HEADER.size + length + _FOOTER.size
            if length > MAX_RECORD and self._position + end <= size:
                self.long += 1
                self._position += end  # beyond what was read
                return
            if end > len(data):
                break
            body = data[offset + _HEADER.size : end - _FOOTER.size]
            if masked_crc32c(body) == _FOOTER.unpack_from(data, end - _FOOTER.size)[0]:
                records.append(body)
            else:
                self.damaged += 1
            offset = end
        self.torn = self._position + len(data) >= size and offset < len(data)
        self._position += offset
