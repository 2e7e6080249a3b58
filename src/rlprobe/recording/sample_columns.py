"""One column of sample rows: from what a caller gave, to what a frame holds, to Arrow, to what a Run returns."""

import itertools
import json
import math
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rlprobe.recording.columns import fixed_values
from rlprobe.recording.layout import FLOAT16, INT32, SAMPLE_COLUMNS
from rlprobe.recording.values import number, shown

ITEMS = b"rlprobe.items"  # Arrow field metadata: the type of the numbers in a binary column
_TYPES = {column.name: column.type for column in SAMPLE_COLUMNS}
_DTYPES: Mapping[str, np.dtype[np.generic]] = {"binary float16": np.dtype("<f2"), "binary int32": np.dtype("<i4")}
_CODES = {"binary float16": FLOAT16, "binary int32": INT32}
_BY_CODE = {code: name for name, code in _CODES.items()}
_INT32 = np.iinfo(np.int32)
_AS_THEY_ARE: Mapping[str, frozenset[type]] = {
    "double": frozenset((float, type(None))),
    "string": frozenset((str, type(None))),
    "bool": frozenset((bool, type(None))),
}  # types of Python that a column holds unchanged


def column_type(name: str, values: Sequence[object]) -> str:
    """The type of a column: the format's own, else the narrowest that holds every value."""
    known = _TYPES.get(name) or (_TYPES.get(name.split("/", 1)[0] + "/") if "/" in name else None)
    if known is not None:
        return known
    kinds = {_kind(value) for value in values if value is not None}
    if len(kinds) == 1:
        return kinds.pop()
    return "double" if kinds and kinds <= {"bool", "int64", "double"} else "string"


def _kind(value: object) -> str:
    if isinstance(value, msgspec.msgpack.Ext):
        return _BY_CODE.get(value.code, "string")
    if isinstance(value, (bool, np.bool_)):
        return "bool"
    if isinstance(value, (int, np.integer)):
        return "int64" if -(2**63) <= int(value) < 2**63 else "double"
    if isinstance(value, (float, np.floating)):
        return "double"
    shape = getattr(value, "shape", None)
    if shape is None:
        return "string"
    if len(shape) == 0:
        return "double"
    return "binary int32" if getattr(getattr(value, "dtype", None), "kind", "f") in "iub" else "binary float16"


def clean_column(kind: str, values: Sequence[object]) -> tuple[list[object], tuple[str, str] | None]:
    """The column as a frame holds it, and (value, reason) of the first value that had to be left out."""
    types = set(map(type, values))
    if types <= _AS_THEY_ARE.get(kind, frozenset()):
        return list(values), None
    if kind == "int64" and types == {int} and -(2**63) <= min(values) <= max(values) < 2**63:  # type: ignore[operator,type-var]  # integers, all of them
        return list(values), None
    if types == {np.ndarray} and kind in _CODES:
        arrays = _arrays_at_once(kind, values)  # type: ignore[arg-type]  # arrays, all of them
        if arrays is not None:
            return arrays, None
    out: list[object] = []
    bad: tuple[str, str] | None = None
    for value in values:
        try:
            out.append(None if value is None else _clean(kind, value))
        except Exception as error:  # a foreign object's own code ran; only this value is lost
            out.append(None)
            bad = bad or (shown(value), f"no {kind}: {type(error).__name__}")
    return out, bad


def can_wait(kind: str, values: Sequence[object]) -> bool:
    """Whether a column is of arrays that can be packed later, when it is known which of them are kept."""
    return (
        kind == "binary float16"
        and set(map(type, values)) == {np.ndarray}
        and {array.dtype.kind for array in values} == {"f"}  # type: ignore[attr-defined]  # arrays, all of them
    )


def packed(values: list[object]) -> list[object]:
    """A column that could wait as a frame holds it; any other as it is."""
    if not values or type(values[0]) is not np.ndarray:
        return values
    return clean_column("binary float16", values)[0]


def _arrays_at_once(kind: str, arrays: Sequence[NDArray[np.generic]]) -> list[object] | None:
    """Arrays of one type in a single conversion; None when they have to be looked at one by one."""
    if len({array.dtype for array in arrays}) > 1 or arrays[0].dtype.kind not in "fiub":
        return None
    numbers = np.concatenate(arrays, axis=None)
    if kind == "binary int32" and len(numbers) and not _INT32.min <= numbers.min() <= numbers.max() <= _INT32.max:
        return None
    dtype, code = _DTYPES[kind], _CODES[kind]
    with np.errstate(over="ignore"):
        data = numbers.astype(dtype).tobytes()
    ends = list(itertools.accumulate(array.size * dtype.itemsize for array in arrays))
    return [msgspec.msgpack.Ext(code, data[start:end]) for start, end in zip([0, *ends], ends, strict=False)]


def _clean(kind: str, value: object) -> object:
    if kind in _CODES:
        return value if isinstance(value, msgspec.msgpack.Ext) else _array(kind, value)
    if kind == "string":
        return value if isinstance(value, str) else _text(value)
    converted, reason = number(value)
    if converted is None:
        raise ValueError(reason)
    if kind == "double":
        return converted
    if kind == "bool":
        return bool(converted)
    whole = int(value) if isinstance(value, int) else int(converted)
    if not -(2**63) <= whole < 2**63:
        raise ValueError(reason)
    return whole


def _text(value: object) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, (dict, list, tuple)):
        return json.dumps(value, ensure_ascii=False, default=shown)
    return str(value)


def _array(kind: str, value: object) -> msgspec.msgpack.Ext:
    if hasattr(value, "detach"):  # a tensor; numpy has no bfloat16
        held = value.detach().cpu()
        value = held.float().numpy() if kind == "binary float16" else held.numpy()
    numbers = np.asarray(value).ravel()
    if kind == "binary int32" and len(numbers) and not _INT32.min <= numbers.min() <= numbers.max() <= _INT32.max:
        raise ValueError("beyond int32")
    with np.errstate(over="ignore"):
        return msgspec.msgpack.Ext(_CODES[kind], numbers.astype(_DTYPES[kind]).tobytes())


def arrow_column(name: str, kind: str, values: Sequence[object]) -> tuple[pa.Field, pa.Array]:
    """The column of a part; a value that is not of its type is null."""
    if kind in _CODES:
        blobs = [bytes(value.data) if isinstance(value, msgspec.msgpack.Ext) else None for value in values]
        return pa.field(name, pa.binary(), metadata={ITEMS: kind.split()[1].encode()}), _blobs(pa.binary(), blobs)
    types = set(map(type, values))
    if kind == "string":
        texts = [value.encode("utf-8", "replace") if isinstance(value, str) else None for value in values]
        return pa.field(name, pa.string()), _blobs(pa.string(), texts)
    if types == _WHOLE.get(kind):
        arrow, data = _numbers(kind, values)  # type: ignore[arg-type]  # of that type, all of them
        return pa.field(name, arrow), pa.Array.from_buffers(arrow, len(values), [None, pa.py_buffer(data)])
    kept = [value if isinstance(value, _NUMBERS) and _fits(kind, value) else None for value in values]
    present = np.array([value is not None for value in kept], dtype=bool)
    bitmap = None if present.all() else pa.py_buffer(np.packbits(present, bitorder="little"))
    filled = [0 if value is None else value for value in kept]
    arrow, data = _numbers(kind, filled)
    return pa.field(name, arrow), pa.Array.from_buffers(arrow, len(values), [bitmap, pa.py_buffer(data)])


_NUMBERS = (bool, int, float)
_WHOLE: Mapping[str, set[type]] = {"double": {float}, "bool": {bool}}  # the type of a column without a gap


def _fits(kind: str, value: float) -> bool:
    """Whether a column of that type holds the value: whole numbers have no NaN and 64 bits."""
    return kind == "double" or (math.isfinite(value) and -(2**63) <= value < 2**63)


def _numbers(kind: str, values: Sequence[int | float]) -> tuple[pa.DataType, NDArray[np.generic]]:
    if kind == "bool":
        return pa.bool_(), np.packbits(np.array(values, dtype=bool), bitorder="little")
    if kind == "double":
        return pa.float64(), np.array(values, dtype=np.float64)
    return (pa.int32(), np.array(values, np.int32)) if kind == "int32" else (pa.int64(), np.array(values, np.int64))


def _blobs(arrow: pa.DataType, values: list[bytes | None]) -> pa.Array:
    lengths = np.array([0 if value is None else len(value) for value in values], dtype=np.int64)
    offsets = np.zeros(len(values) + 1, dtype=np.int32)
    np.cumsum(lengths, out=offsets[1:], dtype=np.int32)
    present = np.array([value is not None for value in values], dtype=bool)
    bitmap = None if present.all() else pa.py_buffer(np.packbits(present, bitorder="little"))
    data = b"".join(value for value in values if value is not None)
    return pa.Array.from_buffers(arrow, len(values), [bitmap, pa.py_buffer(offsets), pa.py_buffer(data)])


def list_of(field: pa.Field, column: pa.ChunkedArray) -> list[object]:
    """A part's column as a frame holds it."""
    items = (field.metadata or {}).get(ITEMS)
    values = column.to_pylist()
    if items is None:
        return list(values)
    code = _CODES.get("binary " + items.decode())
    return values if code is None else [None if v is None else msgspec.msgpack.Ext(code, v) for v in values]


def numbers_of(column: pa.ChunkedArray) -> NDArray[np.generic] | None:
    """A numeric part column as an array without a detour through Python numbers; None for any other column."""
    if not (pa.types.is_int64(column.type) or pa.types.is_int32(column.type) or pa.types.is_float64(column.type)):
        return None
    dtype = np.dtype(str(column.type).replace("double", "float64"))
    values, present = fixed_values(column, dtype)
    return values if present.all() else np.where(present, values.astype(np.float64), np.nan)


def view_of(values: list[object]) -> object:
    """A column as a Run returns it: an array of numbers where every value is one (None is NaN), else a list."""
    present = [value for value in values if value is not None]
    if present and all(isinstance(value, bool) for value in present):
        return np.array(values, dtype=bool) if len(present) == len(values) else _floats(values)
    if present and all(isinstance(value, (int, float)) for value in present):
        whole = len(present) == len(values) and all(isinstance(value, int) for value in values)
        return np.array(values, dtype=np.int64) if whole else _floats(values)
    return [_unpacked(value) for value in values]


def _floats(values: list[object]) -> object:
    return np.array([math.nan if value is None else value for value in values], dtype=np.float64)


def _unpacked(value: object) -> object:
    if isinstance(value, msgspec.msgpack.Ext) and value.code in _BY_CODE:
        dtype, data = _DTYPES[_BY_CODE[value.code]], bytes(value.data)
        return np.frombuffer(data, dtype=dtype, count=len(data) // dtype.itemsize)
    return value
