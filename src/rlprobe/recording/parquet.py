"""steps.parquet: how it is written, opened and extended.

It always holds a whole prefix of the run: every frame up to the position in its COVERS key, nothing of a later one.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from rlprobe.recording.columns import NO_ROWS, Rows, rows_of, table_of
from rlprobe.recording.files import replace_file
from rlprobe.recording.frames import END, NOTHING, Position
from rlprobe.recording.layout import COVERS, FORMAT, MAJOR, MINOR, RESERVED, SEGMENT, SEQUENCE, STEP
from rlprobe.recording.merging import Merged, concatenate, patch

_GROUP_CELLS = 1 << 20  # cells of one row group: 8 MB of float64, so that a snapshot streams in little memory
_GROUP_ROWS = 1 << 16
__all__ = ["DAMAGE", "END", "NOTHING", "Position", "StepsFile", "covers_metadata", "parse_covers", "write_steps"]
DAMAGE = (OSError, pa.ArrowException, ValueError, KeyError, IndexError)  # what a damaged parquet file raises


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
        file = pq.ParquetFile(path)
        return cls(file=file, covers=parse_covers(file.metadata.metadata))

    @property
    def names(self) -> list[str]:
        """The metrics' names in file order."""
        return [name for name in self.file.schema_arrow.names if name not in RESERVED]

    def groups(self) -> Iterator[Rows]:
        """The row groups, oldest first; read on one thread, because a second costs the CPU that it saves in time."""
        for index in range(self.file.num_row_groups):
            yield rows_of(self.file.read_row_group(index, use_threads=False))

    def newer(self, position: Position) -> Iterator[Rows]:
        """The rows whose newest frame lies behind `position`; row groups without any are not read."""
        schema = self.file.schema_arrow
        places = [schema.get_field_index(name) for name in (SEGMENT, SEQUENCE)]
        for index in range(self.file.num_row_groups):
            segment, sequence = (self.file.metadata.row_group(index).column(place).statistics for place in places)
            known = all(each is not None and each.has_min_max for each in (segment, sequence))
            if known and (segment.max < position[0] or (segment.max == position[0] and sequence.max <= position[1])):
                continue
            rows = rows_of(self.file.read_row_group(index, use_threads=False))
            same = (rows.segments == position[0]) & (rows.sequences > position[1])
            yield rows.take((rows.segments > position[0]) | same)


def parse_covers(metadata: Mapping[bytes, bytes] | None) -> Position:
    """The position in a parquet file's metadata; NOTHING when it has none."""
    segment, _, sequence = (metadata or {}).get(COVERS, b"").partition(b":")
    return (int(segment), int(sequence)) if segment and sequence else NOTHING


def covers_metadata(covers: Position) -> dict[bytes, bytes]:
    """The key-value metadata of a parquet file that covers frames up to a position."""
    return {COVERS: b"%d:%d" % covers, b"rlprobe.format": f"{FORMAT}/{MAJOR}.{MINOR}".encode()}


def write_steps(path: Path, old: StepsFile | None, merged: Sequence[Merged], covers: Position) -> None:
    """Replace steps.parquet by the old rows, what arrived late for them, and the new rows.

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

    def write(temporary: Path) -> None:
        with _writer(temporary, schema) as writer:
            held = NO_ROWS
            for rows in _pieces(old, list(merged)):
                held = concatenate([held, rows])
                while len(held) >= limit:
                    _write_group(writer, held.take(slice(0, limit)), schema)
                    held = held.take(slice(limit, None))
            if len(held):
                _write_group(writer, held, schema)

    replace_file(path, write)


def _pieces(old: StepsFile | None, merged: list[Merged]) -> Iterator[Rows]:
    for group in old.groups() if old else ():
        rows = group
        for index, part in enumerate(merged):
            if len(part.rows) and _overlaps(rows, part.rows):
                rows, merged[index] = patch(rows, part)
        yield rows
    yield from (part.rows for part in merged)


def _overlaps(rows: Rows, late: Rows) -> bool:
    same = rows.steps[rows.segments == late.segments[0]]
    return len(same) > 0 and bool(late.steps[0] <= same.max())


def _writer(path: Path, schema: pa.Schema) -> pq.ParquetWriter:
    return pq.ParquetWriter(
        path,
        schema,
        compression="zstd",
        compression_level=1,
        use_dictionary=False,
        write_statistics=[STEP, SEGMENT, SEQUENCE],
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
