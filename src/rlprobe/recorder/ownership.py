"""Copies of what a caller could change after the call: arrays, tensors, lists. Everything else passes as it is.

Tensors are detached and cloned where they are; nothing here waits for a device.
"""

from collections.abc import Mapping, Sequence

import msgspec

from rlprobe.recorder.items import Row

# Encoding refuses arrays, tensors and every subclass of a number: one call both looks at all types and makes the copy,
# in less time than it takes to look at them from Python.
_encode = msgspec.msgpack.Encoder(decimal_format="number").encode

_PLAIN = frozenset((float, int, bool, str, type(None)))
_DEPTH = 4  # levels of lists and dicts that are copied: messages of a chat have two
_ITEM_BYTES = 64  # bytes that a plain value takes in memory, about


def held_metrics(metrics: Mapping[str, object]) -> Mapping[str, object] | bytes:
    """The metrics as an item holds them: as msgpack, or as a dict where a value is an array, a tensor or foreign."""
    given = metrics if type(metrics) is dict else dict(metrics)
    try:
        return _encode(given)
    except Exception:  # whatever msgpack has no form for, in keys too, travels as it is
        return owned_metrics(given)


def owned_metrics(metrics: Mapping[str, object]) -> dict[str, object]:
    """The metrics with arrays and tensors copied."""
    return {name: value if type(value) in _PLAIN else owned_value(value) for name, value in metrics.items()}


def owned_value(value: object, depth: int = _DEPTH) -> object:
    """The value, copied when it could change; one whose copying fails passes as it is, and is told by the writer."""
    try:
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
    """(bytes, rows) of sample rows; the bytes are those of the first and the last row times the count."""
    if isinstance(rows, Mapping):
        count = max((len(values) for values in rows.values() if hasattr(values, "__len__")), default=0)
        return sum(_size_of_column(values) for values in rows.values()), count
    count = len(rows)
    if count == 0:
        return 0, 0
    ends = [sum(map(_size, row.values())) for row in (rows[0], rows[-1]) if isinstance(row, Mapping)]
    return sum(ends) * count // max(1, len(ends)), count


def _size_of_column(values: object) -> int:
    if isinstance(values, Mapping):
        return sum(map(_size_of_column, values.values()))
    if isinstance(values, (list, tuple)):
        return _size(values[0]) * len(values) if values else 0
    return _size(values)


def _size(value: object) -> int:
    nbytes = getattr(value, "nbytes", None)
    if isinstance(nbytes, int):
        return nbytes + _ITEM_BYTES
    return _ITEM_BYTES + (
        len(value) * (1 if isinstance(value, str) else _ITEM_BYTES) if hasattr(value, "__len__") else 0
    )
