"""steps.parquet: how it is written, opened and extended.

It always holds a whole prefix of the run: every frame up to the position in its COVERS key, nothing of a later one.
A long file is extended without being encoded anew: its row groups are copied as bytes, and the new ones follow them.
"""

import io
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from rlprobe.recording.columns import NO_ROWS, Rows, rows_of, table_of
from rlprobe.recording.damage import (
    DAMAGE,
    covers_metadata,
    metadata_of_file,
    open_for_arrow,
    open_parquet,
    parse_covers,
    refused,
    seal,
    set_aside,
)
from rlprobe.recording.files import replace_file
from rlprobe.recording.frames import END, NOTHING, Position
from rlprobe.recording.layout import RESERVED, SEGMENT, SEQUENCE, STEP
from rlprobe.recording.merging import Merged, concatenate, patch

_GROUP_CELLS = 1 << 20  # cells of one row group: 8 MB of float64, so that a snapshot streams in little memory
_GROUP_ROWS = 1 << 16
_SMALL_GROUPS = 8  # row groups that are not full, besides one for each full one, at which a file is encoded anew
_COPY_BYTES = 1 << 20
_MAGIC = b"PAR1"
__all__ = ["DAMAGE", "END", "NOTHING", "Position", "StepsFile", "write_steps"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepsFile:
    """An open steps.parquet."""

    file: pq.ParquetFile
    covers: Position

    @classmethod
    def open(cls, path: Path) -> "StepsFile | None":
        """The file, or None when there is none.

        Raises:
            DAMAGE: it is there and cannot be read.
        """
        if not path.exists():
            return None
        file = open_parquet(path)
        return cls(file=file, covers=parse_covers(file.metadata.metadata))

    @property
    def names(self) -> list[str]:
        """The metrics' names in file order."""
        return [name for name in self.file.schema_arrow.names if name not in RESERVED]

    def groups(self, damaged: Callable[[Exception], None] | None = None) -> Iterator[Rows]:
        """The row groups, oldest first.

        Args:
            damaged: is told of each row group that is damaged, and left out.

        Raises:
            DAMAGE: a row group is damaged, and nobody wants to be told.
        """
        for index in range(self.file.num_row_groups):
            rows = self._group(index, damaged)
            if rows is not None:
                yield rows

    def _group(self, index: int, damaged: Callable[[Exception], None] | None) -> Rows | None:
        """One row group; on one thread, because a second costs the CPU that it saves in time."""
        try:
            return rows_of(self.file.read_row_group(index, use_threads=False))
        except DAMAGE as error:
            if damaged is None or refused(error):
                raise
            damaged(error)
            return None

    def newer(self, position: Position, damaged: Callable[[Exception], None]) -> Iterator[Rows]:
        """The rows whose newest frame lies behind `position`; row groups without any are not read."""
        schema = self.file.schema_arrow
        places = [schema.get_field_index(name) for name in (SEGMENT, SEQUENCE)]
        for index in range(self.file.num_row_groups):
            segment, sequence = (self.file.metadata.row_group(index).column(place).statistics for place in places)
            known = all(each is not None and each.has_min_max for each in (segment, sequence))
            if known and (segment.max < position[0] or (segment.max == position[0] and sequence.max <= position[1])):
                continue
            rows = self._group(index, damaged)
            if rows is None:
                continue
            same = (rows.segments == position[0]) & (rows.sequences > position[1])
            yield rows.take((rows.segments > position[0]) | same)


def write_steps(
    path: Path, old: StepsFile | None, merged: Sequence[Merged], covers: Position, *, tidy: bool = True
) -> None:
    """Replace steps.parquet by the old rows, what arrived late for them, and the new rows.

    An old file of which row groups are damaged is kept aside.

    Args:
        path: the file; `old` is what lies there.
        tidy: whether row groups that are not full may be put together, at the cost of encoding all rows anew.

    Raises:
        OSError: the disk refused; the old file is untouched.
    """
    names = dict.fromkeys([*(old.names if old else ()), *(name for part in merged for name in part.rows.columns)])
    schema = pa.schema(
        [
            pa.field(STEP, pa.int64(), nullable=False),
            pa.field(SEGMENT, pa.int32(), nullable=False),
            pa.field(SEQUENCE, pa.int64(), nullable=False),
            *(pa.field(name, pa.float64()) for name in names),
        ],
        metadata=covers_metadata(covers),
    )
    limit = max(64, min(_GROUP_ROWS, _GROUP_CELLS // len(schema)))
    kept = old if old is not None and _stays(old, schema, merged, limit, tidy=tidy) else None

    def write(temporary: Path) -> None:
        damages: list[Exception] = []
        with open_for_arrow(temporary) as out, _writer(out, schema) as writer:
            if kept is not None:
                _copy_groups(path, out)
            held = NO_ROWS
            for rows in _pieces(None if kept else old, list(merged), damages.append):
                held = concatenate([held, rows])
                while len(held) >= limit:
                    _write_group(writer, held.take(slice(0, limit)), schema)
                    held = held.take(slice(limit, None))
            if len(held):
                _write_group(writer, held, schema)
        if kept is not None:
            _list_groups(temporary, schema, kept.file.metadata)
        seal(temporary)
        if damages:
            set_aside(path, shutil.copyfile)

    replace_file(path, write)


def _stays(old: StepsFile, schema: pa.Schema, merged: Sequence[Merged], limit: int, *, tidy: bool) -> bool:
    """Whether the old row groups may go over as bytes: many rows, the same columns, nothing that came late for them."""
    metadata = old.file.metadata
    if metadata.num_rows <= limit or not old.file.schema_arrow.equals(schema):
        return False
    groups = [metadata.row_group(index) for index in range(metadata.num_row_groups)]
    full = sum(group.num_rows >= limit for group in groups)
    if tidy and len(groups) - full > max(_SMALL_GROUPS, full):
        return False
    return not any(_may_hold(group, part.rows) for group in groups for part in merged if len(part.rows))


def _may_hold(group: pq.RowGroupMetaData, late: Rows) -> bool:
    """Whether a row group can have rows that `late`, which is of one segment and in ascending steps, has values for."""
    step, segment = (group.column(place).statistics for place in (0, 1))  # as they stand in the schema
    if any(each is None or not each.has_min_max for each in (step, segment)):
        return True
    return bool(segment.min <= late.segments[0] <= segment.max and late.steps[0] <= step.max)


def _copy_groups(path: Path, out: pa.NativeFile) -> None:
    """Everything of a parquet file but its footer, to the same place in a file that has the first four bytes."""
    with path.open("rb") as source:
        rest = _footer_at(source) - source.seek(len(_MAGIC))
        while rest > 0 and (piece := source.read(min(rest, _COPY_BYTES))):
            out.write(piece)
            rest -= len(piece)


def _footer_at(file: BinaryIO) -> int:
    """Where the footer of a parquet file begins: its length stands before the last four bytes."""
    tail = len(_MAGIC) + 4
    end = file.seek(-tail, os.SEEK_END)
    return end - int.from_bytes(file.read(4), "little")


def _list_groups(path: Path, schema: pa.Schema, before: pq.FileMetaData) -> None:
    """Give a file, whose footer names its last row groups only, one that names those of `before` as well."""
    empty, footer = io.BytesIO(), io.BytesIO()
    pq.ParquetWriter(empty, schema).close()
    whole = pq.ParquetFile(empty).metadata
    whole.append_row_groups(before)
    whole.append_row_groups(metadata_of_file(path))
    whole.write_metadata_file(footer)
    with path.open("r+b") as file:
        file.truncate(file.seek(_footer_at(file)))
        file.write(footer.getvalue()[len(_MAGIC) :])


def _pieces(old: StepsFile | None, merged: list[Merged], damaged: Callable[[Exception], None]) -> Iterator[Rows]:
    for group in old.groups(damaged) if old else ():
        rows = group
        for index, part in enumerate(merged):
            if len(part.rows) and _overlaps(rows, part.rows):
                rows, merged[index] = patch(rows, part)
        yield rows
    yield from (part.rows for part in merged)


def _overlaps(rows: Rows, late: Rows) -> bool:
    same = rows.steps[rows.segments == late.segments[0]]
    return len(same) > 0 and bool(late.steps[0] <= same.max())


def _writer(out: pa.NativeFile, schema: pa.Schema) -> pq.ParquetWriter:
    return pq.ParquetWriter(
        out,
        schema,
        compression="zstd",
        compression_level=1,
        use_dictionary=False,
        write_statistics=[STEP, SEGMENT, SEQUENCE],
        write_page_checksum=True,
        column_encoding={
            name: "DELTA_BINARY_PACKED" if name in RESERVED else "BYTE_STREAM_SPLIT" for name in schema.names
        },
    )


def _write_group(writer: pq.ParquetWriter, rows: Rows, schema: pa.Schema) -> None:
    table = table_of(rows)
    arrays = [
        table.column(field.name)
        if field.name in RESERVED or field.name in rows.columns
        else pa.nulls(len(rows), field.type)
        for field in schema
    ]
    writer.write_table(pa.Table.from_arrays(arrays, schema=schema), row_group_size=len(rows))
