"""Items become frames. What cannot be a number is left out, counted, and told once a metric."""

import math
import struct
from collections.abc import Callable, Mapping

import msgspec

from rlprobe.recording.journal import frame
from rlprobe.recording.layout import LOGGED, SAMPLE_ROWS
from rlprobe.recording.values import Bad, convert, metric_name

WALL_TIME = "wall_time"
_KEPT = 1024  # sets of names whose encoding is remembered
_encode = msgspec.msgpack.Encoder().encode
_decode: Callable[[bytes], Mapping[object, object]] = msgspec.msgpack.Decoder().decode
_FLOAT = {float}


def decoded(
    metrics: Mapping[str, object] | bytes,
) -> Mapping[str, object] | Mapping[object, object]:
    """The metrics that an item holds, by name."""
    return _decode(metrics) if isinstance(metrics, bytes) else metrics


class StepEncoder:
    """Frames of steps; remembers how each set of names is encoded, because most steps log the same metrics."""

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], tuple[msgspec.Raw, struct.Struct, bool]] = {}

    def encode(
        self, kind: str, sequence: int, step: int, time: float, metrics: Mapping[str, object] | Mapping[object, object]
    ) -> tuple[bytes, list[Bad], list[tuple[str, float]]]:
        """The frame, the values that are none, and the values that are NaN or infinite.

        A logged step gets the time of the call as its wall_time, unless the caller logs one himself.
        """
        bad: list[Bad] = []
        values = [*metrics.values()]
        names: tuple[object, ...] = tuple(metrics)
        if set(map(type, values)) != _FLOAT:
            kept, values, bad = convert(metrics)  # type: ignore[assignment]  # floats from here on
            names = tuple(kept)
        raw, packer, stamped = self._known.get(names) or self._learn(names, kind)
        if stamped:
            values.append(time)
        frame_ = frame(_encode((kind, sequence, step, time, raw, packer.pack(*values))))
        odd = [] if math.isfinite(sum(values)) else self._nonfinite(names, values)  # type: ignore[arg-type]  # floats
        return frame_, bad, odd

    def _learn(self, names: tuple[object, ...], kind: str) -> tuple[msgspec.Raw, struct.Struct, bool]:
        listed = [metric_name(name) for name in names]
        stamped = kind == LOGGED and WALL_TIME not in listed
        if stamped:
            listed.append(WALL_TIME)
        if len(self._known) >= _KEPT:
            self._known.clear()
        known = self._known[names] = (msgspec.Raw(_encode(listed)), struct.Struct(f"<{len(listed)}d"), stamped)
        return known

    @staticmethod
    def _nonfinite(names: tuple[object, ...], values: list[float]) -> list[tuple[str, float]]:
        return [(metric_name(n), v) for n, v in zip(names, values, strict=False) if not math.isfinite(v)]


def sample_frame(sequence: int, step: int, time: float, columns: Mapping[str, list[object]]) -> bytes:
    """The frame of sample rows."""
    rows = max(map(len, columns.values()), default=0)
    try:
        return frame(_encode((SAMPLE_ROWS, sequence, step, time, rows, columns)))
    except UnicodeEncodeError:  # half a surrogate pair in one text costs that character, not the rows of the step
        whole = {_whole(name): [_whole(value) for value in values] for name, values in columns.items()}
        return frame(_encode((SAMPLE_ROWS, sequence, step, time, rows, whole)))


def _whole(value: object) -> object:
    return value.encode("utf-8", "replace").decode("utf-8") if isinstance(value, str) else value
