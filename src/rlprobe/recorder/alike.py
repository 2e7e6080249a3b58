"""Steps whose metrics were encoded alike become blocks.

A trainer logs the same metrics step after step, and floats are all encoded in nine bytes: the encoded metrics of many
steps are then a matrix of bytes in which only the columns of the floats differ. One look at it replaces a decoder,
forty type checks and forty conversions a step, and a block names its metrics once.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import msgspec
import numpy as np
from numpy.typing import NDArray

from rlprobe.recorder.encoding import WALL_TIME
from rlprobe.recorder.items import Item, StepItem
from rlprobe.recorder.ownership import encode_metrics
from rlprobe.recording.journal import frame
from rlprobe.recording.layout import BLOCK
from rlprobe.recording.values import metric_name

LEAST = 8  # steps from which on a matrix is quicker than one after the other
BLOCK_STEPS = 64  # of a block at most: what a damaged byte can cost
_BLOCK_BYTES = 5000  # of a block, about: to checksum more than 5 KiB Python lets go of its lock, and gets it back late
MOST = 8192  # steps of one matrix: each hands the interpreter's lock over a few times, and waits to have it back
_FLOAT_BYTES = 9  # of a float in msgpack: its mark, then eight bytes, the most significant first
_encode = msgspec.msgpack.Encoder().encode
_decode: Callable[[bytes], object] = msgspec.msgpack.Decoder().decode


def runs(items: Iterable[Item]) -> Iterator[list[Item]]:
    """The items in order, cut into runs of steps that have the same number of encoded bytes, and single others."""
    for size, members in groupby(map(_encoded, items), _encoded_bytes):
        held = list(members)
        most = MOST if size and len(held) >= LEAST else 1
        for start in range(0, len(held), most):
            yield held[start : start + most]


def _encoded(item: Item) -> Item:
    """The item with its metrics encoded, where they can be."""
    if type(item) is not StepItem or type(item.metrics) is bytes:
        return item
    try:
        return StepItem(item.step, item.time, encode_metrics(item.metrics))
    except Exception:  # whatever msgpack has no form for stays a dict and is looked at value by value
        return item


def _encoded_bytes(item: Item) -> int:
    """Bytes of encoded metrics; 0 where there are none."""
    return len(item.metrics) if type(item) is StepItem and type(item.metrics) is bytes else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Together:
    """Frames that hold the steps of all items, and the metrics of which one value at least is NaN or infinite."""

    frames: list[bytes]
    odd: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Form:
    """How the metrics of a step are encoded.

    Attributes:
        names: metrics, as the format names them.
        encoded: the names as a frame holds them, the time of the call among them.
        bytes: (size,) the encoded metrics of some step.
        fixed: (size,) 255 where all steps must have the same byte, 0 within a float.
        places: (8 x metrics,) where the floats' bytes are.
        stamped: whether the time of the call is added as a metric.
    """

    names: list[str]
    encoded: msgspec.Raw
    bytes: NDArray[np.uint8]
    fixed: NDArray[np.uint8]
    places: NDArray[np.intp]
    stamped: bool


class AlikeEncoder:
    """Makes frames of many steps at once; remembers the form of the last ones."""

    def __init__(self) -> None:
        self._form: _Form | None = None

    def encode(self, items: Sequence[StepItem], first: int) -> Together | None:
        """Blocks of the items, numbered from `first` on; None where the items are not of one form.

        Args:
            items: their metrics are of the same number of bytes.
        """
        rows = np.frombuffer(b"".join([item.metrics for item in items]), np.uint8).reshape(len(items), -1)  # type: ignore[misc]  # bytes, by contract
        form = self._form
        if form is None or not _has_form(rows, form):
            form = self._form = _form_of(rows[0].tobytes())
            if form is None or not _has_form(rows, form):
                return None
        count = len(form.names)
        values = np.empty((len(items), count + form.stamped))
        values[:, :count] = np.take(rows, form.places, axis=1).view(">f8")
        if form.stamped:
            values[:, count] = [item.time for item in items]
        odd = ~np.isfinite(values).all(axis=0)
        steps = np.array([item.step for item in items], np.int64)
        most = max(1, min(BLOCK_STEPS, (_BLOCK_BYTES - len(form.encoded)) // (8 + 8 * values.shape[1])))
        frames = [
            frame(_encode(_block(first + start, items[start], form, values[start : start + most], steps[start:])))
            for start in range(0, len(items), most)
        ]
        return Together(frames=frames, odd=[form.names[place] for place in np.flatnonzero(odd) if place < count])


def _block(
    sequence: int, item: StepItem, form: _Form, values: NDArray[np.float64], steps: NDArray[np.int64]
) -> tuple[object, ...]:
    """The payload of a block that begins with an item's step; of `steps` it has as many as it has rows of values."""
    numbers = steps[: len(values)].tobytes()
    return (BLOCK, sequence, item.step, item.time, form.encoded, values.tobytes(), numbers)


def _has_form(rows: NDArray[np.uint8], form: _Form) -> bool:
    """Whether all rows are encoded like the form's own."""
    return rows.shape[1] == len(form.bytes) and not ((rows ^ form.bytes) & form.fixed).any()


def _form_of(encoded: bytes) -> _Form | None:
    """The form of encoded metrics; None where one of them is no float."""
    metrics = _decode(encoded)
    if not isinstance(metrics, Mapping) or set(map(type, metrics.values())) != {float}:
        return None
    keys = np.array([len(_encode(key)) for key in metrics])
    head = len(encoded) - int(keys.sum()) - _FLOAT_BYTES * len(keys)
    starts = head + np.cumsum(keys) + _FLOAT_BYTES * np.arange(len(keys)) + 1
    places = (starts[:, None] + np.arange(8)).ravel()
    fixed = np.full(len(encoded), 255, np.uint8)
    fixed[places] = 0
    names = [metric_name(key) for key in metrics]
    stamped = WALL_TIME not in names
    listed = [*names, WALL_TIME] if stamped else names
    return _Form(
        names=names,
        encoded=msgspec.Raw(_encode(listed)),
        bytes=np.frombuffer(encoded, np.uint8),
        fixed=fixed,
        places=places,
        stamped=stamped,
    )
