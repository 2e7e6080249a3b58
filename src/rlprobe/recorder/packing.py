"""The metrics of a step as the bytes that a frame holds; steps that wait together become one frame, a block.

All of it is plain Python on purpose. numpy lets go of the interpreter's lock at every larger array, and in a process
that is busy in Python the writer waits milliseconds to have it back each time.
"""

import math
import struct
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from rlprobe.recording.journal import frame
from rlprobe.recording.layout import BLOCK, DERIVED, LOGGED
from rlprobe.recording.values import Bad, convert, exact, metric_name

WALL_TIME = "wall_time"
BLOCK_STEPS = 64  # of a block at most: what a damaged byte can cost
_BLOCK_BYTES = 5000  # of a block, about: to checksum more than 5 KiB Python lets go of its lock
_KEPT = 1024  # sets of names whose encoding is remembered
_PLAIN = {float, int, bool}
_FLOAT_MARK, _FLOAT_BYTES = b"\xcb", 9  # of a float in msgpack: its mark, and all of it
_encode = msgspec.msgpack.Encoder().encode


@dataclass(frozen=True, slots=True, eq=False)
class Form:
    """What the frames of steps that log the same metrics have in common.

    Attributes:
        names: of the metrics as the format names them; the time of the call is the last where `stamped`.
        encoded: the names as a frame holds them.
        stamped: whether the time of the call is added as a metric, because the caller logs none of that name.
        most: steps of a block.
        pack: makes the bytes of a step's values.
    """

    names: tuple[str, ...]
    encoded: msgspec.Raw
    stamped: bool
    most: int
    pack: Callable[..., bytes]


class Packed(msgspec.Struct, frozen=True, gc=False):
    """Metrics of a step: (names,) float64 in `values`."""

    form: Form
    values: bytes
    finite: bool

    def odd(self) -> list[tuple[str, float]]:
        """The metrics that are NaN or infinite."""
        if self.finite:
            return []
        return [(n, v) for n, v in zip(self.form.names, array("d", self.values), strict=True) if not math.isfinite(v)]


class Packer:
    """Packs the metrics of steps, most of which log the same ones. Several threads may call it.

    Args:
        stamped: whether the time of the call is added as a metric where the caller logs none of that name.
    """

    def __init__(self, *, stamped: bool = True) -> None:
        self._stamped = stamped
        self._known: dict[tuple[str, ...], Form] = {}
        self._last: tuple[list[object], Form | None] = ([], None)

    def plain(self, metrics: Mapping[str, object], time: float) -> Packed | None:
        """The metrics where all are numbers that float64 holds as they are; None otherwise: no foreign code runs."""
        values: list[float] = [*metrics.values()]  # type: ignore[list-item]  # asked in the next lines
        if not (_floats(values) or (set(map(type, values)) <= _PLAIN and all(map(exact, values)))):
            return None
        keys: list[object] = [*metrics]
        last, form = self._last
        if form is None or keys != last:
            if set(map(type, keys)) - {str}:
                return None
            form = self._form(tuple(metrics))
            self._last = keys, form
        try:
            return _packed(form, values, time)
        except struct.error:  # a member of an enumeration looks like its value in msgpack, and is none
            return None

    def any(self, metrics: Mapping[str, object], time: float) -> tuple[Packed, list[Bad]]:
        """The metrics of which a number can be made, and the values that are none or were rounded."""
        names, values, bad = convert(metrics)
        return _packed(self._form(tuple(names)), values, time), bad

    def _form(self, keys: tuple[str, ...]) -> Form:
        known = self._known.get(keys)
        if known is None:
            if len(self._known) >= _KEPT:
                self._known.clear()
            known = self._known[keys] = _form_of(keys, stamped=self._stamped)
        return known


def _form_of(keys: tuple[str, ...], *, stamped: bool) -> Form:
    names = [metric_name(key) for key in keys]
    stamped = stamped and WALL_TIME not in names
    if stamped:
        names.append(WALL_TIME)
    encoded = msgspec.Raw(_encode(names))
    most = (_BLOCK_BYTES - len(encoded)) // (8 + 8 * len(names))
    pack = struct.Struct(f"<{len(names)}d").pack
    return Form(tuple(names), encoded, stamped, max(1, min(BLOCK_STEPS, most)), pack)


def _floats(values: list[float]) -> bool:
    """Whether all are floats, by the marks in their msgpack: a third of the time of asking each for its type."""
    try:
        encoded = _encode(values)
    except Exception:  # something that msgpack has no form for
        return False
    count = len(values)
    head = 1 if count < 16 else 3 if count < 1 << 16 else 5  # bytes that msgpack spends on the length of a list
    return len(encoded) == head + _FLOAT_BYTES * count and encoded[head::_FLOAT_BYTES] == _FLOAT_MARK * count


def _packed(form: Form, values: list[float], time: float) -> Packed:
    if form.stamped:
        values.append(time)
    return Packed(form, form.pack(*values), math.isfinite(sum(values)))


class Blocks:
    """Makes frames of packed steps.

    Args:
        number: gives the first of so many sequence numbers.
    """

    def __init__(self, number: Callable[[int], int]) -> None:
        self._number = number
        self._form: Form | None = None
        self._rows: list[tuple[int, float, bytes]] = []

    def add(self, step: int, time: float, packed: Packed) -> list[bytes]:
        """Take a step; returns the frame that this completed, if one."""
        form = packed.form
        done = self.close() if form is not self._form or len(self._rows) >= form.most else []
        self._form = form
        self._rows.append((step, time, packed.values))
        return done

    def close(self) -> list[bytes]:
        """The frame of the steps that were taken since the last one; none where none was."""
        rows, form = self._rows, self._form
        if not rows or form is None:
            return []
        self._rows = []
        return [logged_frame(self._number(len(rows)), rows, form)]


def logged_frame(sequence: int, rows: Sequence[tuple[int, float, bytes]], form: Form) -> bytes:
    """The frame of steps of one form, each a (step, time, values): a block, or a frame of a single step."""
    step, time, values = rows[0]
    if len(rows) == 1:
        return frame(_encode((LOGGED, sequence, step, time, form.encoded, values)))
    steps = struct.pack(f"<{len(rows)}q", *[row[0] for row in rows])
    return frame(_encode((BLOCK, sequence, step, time, form.encoded, b"".join([row[2] for row in rows]), steps)))


def derived_frame(sequence: int, step: int, time: float, packed: Packed) -> bytes:
    """The frame of metrics that were computed from samples."""
    return frame(_encode((DERIVED, sequence, step, time, packed.form.encoded, packed.values)))
