"""Frames of the journal: [u32 length][u32 crc32][msgpack payload], and how a damaged file is read.

A frame is whole or it is not there: readers take every frame whose checksum fits and step over everything else.
"""

import re
import struct
import zlib
from dataclasses import dataclass

import msgspec

from rlprobe.recording.layout import FRAME_HEADER, MAX_FRAME

_HEADER = struct.Struct("<II")
_RESYNC_BUDGET = 64 << 20  # bytes that one search for the next whole frame may checksum; bounds a hostile file
_PAYLOAD_START = re.compile(rb"[\x90-\x9f]")  # a payload is a msgpack array of up to 15 items


class StepPayload(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """Payload of a frame of steps: `names` is the msgpack array of the metrics' names, `values` their float64.

    A block holds several steps: their int64 in `steps`, and their values one row behind the other.
    """

    kind: str
    sequence: int
    step: int
    time: float
    names: msgspec.Raw
    values: bytes
    steps: bytes = b""


class StepFrame(msgspec.Struct, frozen=True, gc=False):
    """Values of a step, or of several. Holds no view of a file's bytes; frames of the same metrics share `names`.

    Attributes:
        kind: logged or derived.
        sequence: number of the first step's frame; the others of a block follow it one by one.
        steps: one at least, in the order in which they were logged.
        names: of the metrics.
        values: (steps x names) float64, row by row.
    """

    kind: str
    sequence: int
    steps: tuple[int, ...]
    names: tuple[str, ...]
    values: bytes

    @property
    def last(self) -> int:
        """Number of the last step's frame."""
        return self.sequence + len(self.steps) - 1

    def part(self, start: int, stop: int) -> "StepFrame":
        """The steps in these places alone."""
        width = 8 * len(self.names)
        values = self.values[start * width : stop * width]
        return StepFrame(self.kind, self.sequence + start, self.steps[start:stop], self.names, values)

    def behind(self, sequence: int) -> "StepFrame | None":
        """The steps whose number is above `sequence`; None where there are none."""
        if sequence < self.sequence:
            return self
        return self.part(sequence - self.sequence + 1, len(self.steps)) if sequence < self.last else None

    def from_step(self, step: int) -> "list[StepFrame]":
        """What it holds for `step` and higher ones."""
        if min(self.steps) >= step:
            return [self]
        return [self.part(place, place + 1) for place, each in enumerate(self.steps) if each >= step]


class SampleFrame(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """Sample rows of one call as columns of equal length."""

    kind: str
    sequence: int
    step: int
    time: float
    rows: int
    columns: dict[str, list[object]]


def frame(payload: bytes) -> bytes:
    """The payload with its header."""
    return _HEADER.pack(len(payload), zlib.crc32(payload)) + payload


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """What a piece of a journal holds.

    Attributes:
        payloads: the whole frames' payloads, in order; views of the scanned bytes.
        end: offset behind the last whole frame; what follows may still be growing.
        damaged: stretches between whole frames that could not be read.
    """

    payloads: list[memoryview]
    end: int
    damaged: int


def scan(data: bytes) -> Scan:
    """Every whole frame of `data`; a stretch that is none is stepped over when a whole frame follows it."""
    view = memoryview(data)
    payloads: list[memoryview] = []
    damaged = 0
    end = _take_whole(view, 0, payloads)
    while (following := _resync(view, end + 1)) is not None:
        damaged += 1
        end = _take_whole(view, following, payloads)
    return Scan(payloads=payloads, end=end, damaged=damaged)


def _take_whole(view: memoryview, offset: int, payloads: list[memoryview]) -> int:
    """Collect the unbroken row of whole frames at `offset`; returns the offset behind it."""
    crc32, header = zlib.crc32, _HEADER.unpack_from
    last = len(view) - FRAME_HEADER - 1
    while offset <= last:
        length, checksum = header(view, offset)
        start = offset + FRAME_HEADER
        payload = view[start : start + length]
        if not 0 < length == len(payload) <= MAX_FRAME or not 0x90 <= payload[0] <= 0x9F or crc32(payload) != checksum:
            break
        payloads.append(payload)
        offset = start + length
    return offset


def _payload_at(view: memoryview, offset: int) -> memoryview | None:
    if len(view) - offset < FRAME_HEADER + 1:
        return None
    length, checksum = _HEADER.unpack_from(view, offset)
    start = offset + FRAME_HEADER
    if not 0 < length <= min(MAX_FRAME, len(view) - start) or not 0x90 <= view[start] <= 0x9F:
        return None
    payload = view[start : start + length]
    return payload if zlib.crc32(payload) == checksum else None


def _resync(view: memoryview, start: int) -> int | None:
    """Offset of the next whole frame at or behind `start`; None when there is none within the budget."""
    budget = _RESYNC_BUDGET
    for found in _PAYLOAD_START.finditer(view, start + FRAME_HEADER):
        offset = found.start() - FRAME_HEADER
        length = _HEADER.unpack_from(view, offset)[0]
        if 0 < length <= len(view) - offset - FRAME_HEADER:
            budget -= length
            if _payload_at(view, offset) is not None:
                return offset
        if budget < 0:
            return None
    return None
