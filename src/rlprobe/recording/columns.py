"""Between numpy columns and Arrow tables.

Arrow is built from raw buffers and read from raw buffers: pyarrow's own converters import pandas where it is installed,
which costs a training process more than a second.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rlprobe.recording.layout import RESERVED, SEGMENT, SEQUENCE, STEP
from rlprobe.recording.run import BoolArray, FloatArray, IntArray

_INTEGERS: Mapping[str, tuple[object, type]] = {
    STEP: (pa.int64(), np.int64),
    SEGMENT: (pa.int32(), np.int32),
    SEQUENCE: (pa.int64(), np.int64),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Rows of steps, one a (segment, step), as columns; `sequences` holds each row's newest frame."""

    steps: IntArray
    segments: IntArray
    sequences: IntArray
    columns: Mapping[str, tuple[FloatArray, BoolArray]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.steps)

    def take(self, where: IntArray | BoolArray | slice) -> "Rows":
        """The chosen rows; a column that none of them logged is left out."""
        masks = {id(logged): logged for _, logged in self.columns.values()}  # most columns share one
        picked = {key: logged[where] for key, logged in masks.items()}
        there = {key for key, logged in picked.items() if logged.any()}
        columns = self.columns.items()
        return Rows(
            steps=self.steps[where],
            segments=self.segments[where],
            sequences=self.sequences[where],
            columns={name: (v[where], picked[id(m)]) for name, (v, m) in columns if id(m) in there},
        )

    def detached(self) -> "Rows":
        """The same rows out of Arrow's memory, which is costly to hold and cheap to use again."""
        columns = {name: (values.copy(), logged) for name, (values, logged) in self.columns.items()}
        return Rows(steps=self.steps.copy(), segments=self.segments, sequences=self.sequences.copy(), columns=columns)


NO_ROWS = Rows(steps=np.empty(0, np.int64), segments=np.empty(0, np.int64), sequences=np.empty(0, np.int64))


def _bitmap(logged: BoolArray) -> pa.Buffer | None:
    """Arrow's bits of what was logged; None where everything was."""
    return None if logged.all() else pa.py_buffer(np.packbits(logged, bitorder="little"))


def float_array(values: FloatArray, logged: pa.Buffer | None) -> pa.Array:
    """A float64 array; NaN stays NaN, what was not logged is null."""
    buffers = [logged, pa.py_buffer(np.ascontiguousarray(values, dtype=np.float64))]
    return pa.Array.from_buffers(pa.float64(), len(values), buffers)


def integer_array(name: str, values: IntArray) -> pa.Array:
    """A column of the format's own."""
    arrow, dtype = _INTEGERS[name]
    return pa.Array.from_buffers(arrow, len(values), [None, pa.py_buffer(np.ascontiguousarray(values, dtype=dtype))])


def fixed_values(
    column: pa.ChunkedArray | pa.Array, dtype: np.dtype[np.generic]
) -> tuple[NDArray[np.generic], BoolArray]:
    """Values and validity of a fixed-width column."""
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    values = [np.frombuffer(c.buffers()[1], dtype=dtype)[c.offset : c.offset + len(c)] for c in chunks if len(c)]
    logged = [_validity(c) for c in chunks if len(c)]
    if not values:
        return np.empty(0, dtype), np.empty(0, bool)
    return (values[0], logged[0]) if len(values) == 1 else (np.concatenate(values), np.concatenate(logged))


def _validity(chunk: pa.Array) -> BoolArray:
    bits = chunk.buffers()[0]
    if bits is None or chunk.null_count == 0:
        return _everywhere(len(chunk))
    unpacked = np.unpackbits(np.frombuffer(bits, np.uint8), bitorder="little", count=chunk.offset + len(chunk))
    return unpacked[chunk.offset :].astype(bool)


@lru_cache(maxsize=4)
def _everywhere(count: int) -> BoolArray:
    """The mask of a column without a gap: one for all columns of a row group."""
    mask = np.ones(count, dtype=bool)
    mask.setflags(write=False)
    return mask


def table_of(rows: Rows) -> pa.Table:
    """The rows as an Arrow table: step, segment, sequence, then the metrics."""
    masks = {id(logged): logged for _, logged in rows.columns.values()}  # most columns share one
    bits = {key: _bitmap(logged) for key, logged in masks.items()}
    arrays = [
        integer_array(STEP, rows.steps),
        integer_array(SEGMENT, rows.segments),
        integer_array(SEQUENCE, rows.sequences),
        *(float_array(values, bits[id(logged)]) for values, logged in rows.columns.values()),
    ]
    return pa.Table.from_arrays(arrays, names=[STEP, SEGMENT, SEQUENCE, *rows.columns])


def rows_of(table: pa.Table) -> Rows:
    """The rows of a table that `table_of` made; columns of a type that is no number are left out."""
    columns: dict[str, tuple[FloatArray, BoolArray]] = {}
    for name in table.column_names:
        if name in RESERVED:
            continue
        dtype = _numpy_type(table.schema.field(name).type)
        if dtype is not None:
            values, logged = fixed_values(table.column(name), dtype)
            floats = values.astype(np.float64, copy=False)
            columns[name] = (floats if logged.all() else np.where(logged, floats, np.nan), logged)
    own = {name: fixed_values(table.column(name), np.dtype(dtype))[0] for name, (_, dtype) in _INTEGERS.items()}
    return Rows(
        steps=own[STEP].astype(np.int64, copy=False),
        segments=own[SEGMENT].astype(np.int64),
        sequences=own[SEQUENCE].astype(np.int64, copy=False),
        columns=columns,
    )


def _numpy_type(arrow: pa.DataType) -> np.dtype[np.generic] | None:
    if pa.types.is_integer(arrow):
        return np.dtype(str(arrow))
    return np.dtype(f"f{arrow.bit_width // 8}") if pa.types.is_floating(arrow) else None


if sys.byteorder != "little":  # pragma: no cover  # no machine that trains language models is big-endian
    raise ImportError("rlprobe.recording: expected a little-endian machine. Read the recording on another host.")
