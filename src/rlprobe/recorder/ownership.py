"""Copies of what a caller could change after the call: arrays, tensors, lists. Everything else passes as it is.

Tensors are detached and cloned where they are; nothing here waits for a device.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from rlprobe.recorder.items import ITEM_BYTES, Row, StepItem
from rlprobe.recorder.packing import Packer

_PLAIN = frozenset((float, int, bool, str, type(None)))
_DEPTH = 4  # levels of lists and dicts that are copied: messages of a chat have two
_VALUE_BYTES = 64  # bytes that a plain value takes in memory, about
_METRIC_BYTES = 56  # bytes that one metric of a dict takes in memory, about


class MetricsHolder:
    """Takes over the metrics of a call: as a copy of the dict, or packed, which is a quarter of the memory.

    What must be copied are arrays and tensors, and asking forty values for their types costs more than all the rest of
    a call. The sum of plain numbers is a plain number, and one array, tensor or numpy scalar makes it something else:
    one addition each, in C, tells. Where they are none, sums are not tried again: adding tensors is work for a device.
    """

    def __init__(self) -> None:
        self._plain = True
        self._pack = Packer().plain

    def hold(self, step: int, time: float, metrics: Mapping[str, object], compact: bool) -> StepItem:  # noqa: FBT001  # a keyword costs a tenth of the call
        """The item of a step that owns its metrics.

        Args:
            step, time: of the item.
            metrics: name -> value; may change after the call.
            compact: whether memory is dearer than time.
        """
        given = metrics if type(metrics) is dict else dict(metrics)
        if self._plain and not compact:
            try:
                found: type = type(sum(given.values()))  # type: ignore[arg-type]  # what cannot be added raises
            except Exception:  # a foreign object's own code ran, or a text is among the values
                found = object
            if found is float or found is int:
                return StepItem(step, time, given.copy(), _METRIC_BYTES * len(given) + ITEM_BYTES)
            self._plain = False
        packed = self._pack(given, time)
        if packed is None:
            return StepItem(step, time, owned_metrics(given), _METRIC_BYTES * len(given) + ITEM_BYTES)
        return StepItem(step, time, packed, len(packed.values) + ITEM_BYTES)


def owned_metrics(metrics: Mapping[str, object]) -> dict[str, object]:
    """The metrics with arrays and tensors copied."""
    out = dict(metrics)
    for name, value in metrics.items():
        if type(value) not in _PLAIN:
            out[name] = owned_value(value)
    return out


def owned_value(value: object, depth: int = _DEPTH) -> object:
    """The value, copied when it could change; one whose copying fails passes as it is, and is told by the writer."""
    try:
        if type(value) is np.ndarray:  # what most are; to ask for attributes that are missing takes as long as a copy
            return value.copy()
        if isinstance(value, (dict, list)):
            return _owned_nest(value, depth)
        if hasattr(value, "detach") and hasattr(value, "clone"):
            return value.detach().clone()
        return value.copy() if hasattr(value, "copy") and hasattr(value, "shape") else value
    except Exception:  # a foreign object's own code ran; the writer converts it or counts it
        return value


def _owned_nest(value: dict[object, object] | list[object], depth: int) -> object:
    if isinstance(value, dict):
        plain = depth == 0 or _PLAIN.issuperset(map(type, value.values()))
        return dict(value) if plain else {key: owned_value(each, depth - 1) for key, each in value.items()}
    plain = depth == 0 or _PLAIN.issuperset(map(type, value))
    return value.copy() if plain else [owned_value(each, depth - 1) for each in value]


def owned_rows(rows: Sequence[Row] | Mapping[str, Sequence[object]]) -> Sequence[Row] | Mapping[str, Sequence[object]]:
    """Sample rows, or columns of them, with everything copied that could change."""
    if isinstance(rows, Mapping):
        return {str(name): owned_value(values) for name, values in rows.items()}  # type: ignore[misc]  # a column stays one
    return [_owned_row(row) for row in rows]


def _owned_row(row: Row) -> Row:
    mapping = type(row) is dict or isinstance(row, Mapping)  # the first is quick
    return owned_metrics(row) if mapping else row  # what is none is told by the writer


def size_of_rows(rows: Sequence[Row] | Mapping[str, Sequence[object]]) -> tuple[int, int]:
    """(bytes, rows) of the item of sample rows; the bytes are those of the row in the middle times the count."""
    if type(rows) is not list and isinstance(rows, Mapping):
        count = max((len(values) for values in rows.values() if hasattr(values, "__len__")), default=0)
        return sum(_size_of_column(values) for values in rows.values()) + ITEM_BYTES, count
    count = len(rows)
    return ITEM_BYTES + (_size_of_row(rows[count // 2]) * count if count else 0), count


def _size_of_row(row: object) -> int:
    if not isinstance(row, dict):
        return 0
    size = _VALUE_BYTES * len(row)
    for value in row.values():
        if type(value) is str:
            size += len(value)
        elif type(value) not in _PLAIN:
            size += _size(value)
    return size


def _size_of_column(values: object) -> int:
    if isinstance(values, Mapping):
        return sum(map(_size_of_column, values.values()))
    if isinstance(values, (list, tuple)):
        return (_size(values[0]) + _VALUE_BYTES) * len(values) if values else 0
    return _size(values)


def _size(value: object) -> int:
    """Bytes of an array, a text or a list, besides those of any value."""
    nbytes = getattr(value, "nbytes", None)
    if isinstance(nbytes, int):
        return nbytes
    if not hasattr(value, "__len__"):
        return 0
    return len(value) * (1 if isinstance(value, str) else _VALUE_BYTES)
