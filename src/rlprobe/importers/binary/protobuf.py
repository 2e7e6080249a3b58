"""The wire format of protocol buffers: the fields of one message, without its schema.

Source: https://protobuf.dev/programming-guides/encoding/. Groups (wire types 3 and 4), long deprecated, are refused.
"""

import struct
from collections.abc import Iterator
from typing import Final

VARINT: Final = 0
FIXED64: Final = 1
BYTES: Final = 2
FIXED32: Final = 5

_MAX_VARINT_BYTES: Final = 10
_MASK64: Final = (1 << 64) - 1


def fields(message: bytes) -> Iterator[tuple[int, int, int, bytes]]:
    """(number, wire type, integer, bytes) of each field: integers and fixed-width bits in the third, bytes in the last.

    Raises:
        ValueError: the message is cut or is none.
    """
    position, end = 0, len(message)
    while position < end:
        tag, position = varint(message, position)
        number, wire = tag >> 3, tag & 7
        if wire == VARINT:
            value, position = varint(message, position)
            yield number, wire, value, b""
            continue
        if wire == BYTES:
            size, position = varint(message, position)
        elif wire in (FIXED32, FIXED64):
            size = 4 if wire == FIXED32 else 8
        else:
            raise ValueError(f"wire type {wire}")
        if number == 0 or size > end - position:
            raise ValueError("field beyond the message")
        data = message[position : position + size]
        position += size
        yield number, wire, 0 if wire == BYTES else int.from_bytes(data, "little"), data


def varint(data: bytes, position: int) -> tuple[int, int]:
    """The integer that begins at a position, modulo 2**64, and the position after it.

    Raises:
        ValueError: it does not end within ten bytes or within the data.
    """
    if position < len(data) and data[position] < 0x80:  # most are of one byte
        return data[position], position + 1
    value = 0
    for index, byte in enumerate(data[position : position + _MAX_VARINT_BYTES]):
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return value & _MASK64, position + index + 1
    raise ValueError("unfinished integer")


def signed(value: int) -> int:
    """An int32 or int64 field as the number it stands for (two's complement in 64 bits)."""
    return value - (1 << 64) if value >> 63 else value


def double(data: bytes) -> float:
    """A fixed64 field as a double."""
    return float(struct.unpack("<d", data)[0])


def float32(data: bytes) -> float:
    """A fixed32 field as a float."""
    return float(struct.unpack("<f", data)[0])
