"""Values of an expression over the rows of a table: numbers, truth values and texts, each with where it is known."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from rlprobe.recording.columns import fixed_values
from rlprobe.recording.run import BoolArray, FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """(n,) or () values, and which of them were recorded; a NaN can be recorded."""

    values: FloatArray
    present: BoolArray

    @property
    def known(self) -> BoolArray:
        """Where there is a number to compare."""
        return np.asarray(self.present & ~np.isnan(self.values))


@dataclass(frozen=True, slots=True, kw_only=True)
class Truths:
    """(n,) or () truth values, and where they are known."""

    values: BoolArray
    known: BoolArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts:
    """A column of texts, or the one text of a literal (then there is no column)."""

    column: pa.ChunkedArray | None = None
    literal: str = ""


Value = Numbers | Truths | Texts


def one_number(value: float) -> Numbers:
    """A number that is the same in every row."""
    return Numbers(values=np.asarray(value, dtype=np.float64), present=np.ones((), dtype=bool))


def one_truth(*, value: bool) -> Truths:
    """A truth value that is the same in every row."""
    return Truths(values=np.asarray(value), known=np.ones((), dtype=bool))


def certain(values: BoolArray) -> Truths:
    """Truth values that are all known."""
    return Truths(values=np.asarray(values), known=np.ones((), dtype=bool))


def nothing(kind: str, rows: int) -> Value:
    """A column without a value."""
    none = np.zeros(rows, dtype=bool)
    if kind == "text":
        return Texts(column=pa.chunked_array([pa.nulls(rows, pa.string())]))
    if kind == "condition":
        return Truths(values=none, known=none)
    return Numbers(values=np.full(rows, np.nan), present=none)


def column_value(column: pa.ChunkedArray, kind: str) -> Value:
    """A column as a value of its kind; where this block holds another type, nothing of it is known."""
    textual = not _numeric(column.type)
    if kind == "text":
        return Texts(column=column if pa.types.is_string(column.type) else column.cast(pa.string()))
    if textual:
        return nothing(kind, len(column))
    return truth_column(column) if kind == "condition" else number_column(column)


def number_column(column: pa.ChunkedArray) -> Numbers:
    """A column of numbers or truth values as an array and a mask."""
    if not pa.types.is_float64(column.type):
        column = column.cast(pa.float64(), safe=False)
    values, present = fixed_values(column, np.dtype(np.float64))
    return Numbers(values=values.astype(np.float64, copy=False), present=present)


def truth_column(column: pa.ChunkedArray) -> Truths:
    """A column of truth values."""
    numbers = number_column(column)
    return Truths(values=numbers.present & (numbers.values != 0), known=numbers.present)


def numbers(value: Value) -> Numbers:
    """Truth values as 1 and 0, numbers as they are."""
    if isinstance(value, Truths):
        return Numbers(values=value.values.astype(np.float64), present=value.known)
    assert isinstance(value, Numbers)  # the checker has refused texts
    return value


def truths(value: Value) -> Truths:
    """Numbers as "not zero", truth values as they are."""
    if isinstance(value, Numbers):
        return Truths(values=value.values != 0, known=value.known)
    assert isinstance(value, Truths)  # the checker has refused texts
    return value


def present(value: Value) -> BoolArray:
    """Where anything was recorded."""
    if isinstance(value, Numbers):
        return value.present
    if isinstance(value, Truths):
        return value.known
    return np.ones((), dtype=bool) if value.column is None else truth_column(value.column.is_valid()).values


def both(a: Truths, b: Truths) -> Truths:
    """Kleene's "and": false as soon as one side is known to be false."""
    known = (a.known & b.known) | (a.known & ~a.values) | (b.known & ~b.values)
    return Truths(values=np.asarray(a.values & b.values & known), known=np.asarray(known))


def either(a: Truths, b: Truths) -> Truths:
    """Kleene's "or": true as soon as one side is known to be true."""
    true = (a.known & a.values) | (b.known & b.values)
    return Truths(values=np.asarray(true), known=np.asarray((a.known & b.known) | true))


def _numeric(arrow: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_boolean(arrow) or types.is_integer(arrow) or types.is_floating(arrow))
