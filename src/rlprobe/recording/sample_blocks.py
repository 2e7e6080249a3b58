"""Sample rows as Arrow tables, block by block: a query reads the columns and the steps that it needs, nothing else.

A block is one part on disk, the journal frames that no part holds yet, or the rows of a foreign log.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from rlprobe.recording.damage import DAMAGE, open_parquet, parse_covers
from rlprobe.recording.frames import NOTHING
from rlprobe.recording.journal import SampleFrame
from rlprobe.recording.layout import SEGMENT, SEQUENCE, STEP
from rlprobe.recording.run import Samples
from rlprobe.recording.sample_columns import arrow_column, clean_column, column_type
from rlprobe.recording.samples import held_frames, part_files

_NEVER = 1 << 62  # a step that no run reaches


class SampleBlock(Protocol):
    """Sample rows that are read together, in recorded order.

    Attributes:
        types: column -> Arrow type.
        steps: smallest and largest step; None when unknown.
    """

    @property
    def types(self) -> Mapping[str, pa.DataType]: ...
    @property
    def steps(self) -> tuple[int, int] | None: ...

    def table(self, names: Iterable[str]) -> pa.Table:
        """The named columns that the block has, always with the same rows; no rows where the block is damaged."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PartBlock:
    """One parquet part. Rows from step `taken_back` on were replaced by a rewind and are left out."""

    path: Path
    segment: int
    types: Mapping[str, pa.DataType]
    steps: tuple[int, int] | None
    taken_back: int = _NEVER

    def table(self, names: Iterable[str]) -> pa.Table:
        """The named columns, read from disk; one thread, because a second costs the CPU that it saves in time."""
        wanted = [name for name in names if name in self.types]
        cut = self.steps is None or self.steps[1] >= self.taken_back
        try:
            read = dict.fromkeys((*wanted, STEP)) if cut or not wanted else wanted
            table = open_parquet(self.path).read(columns=list(read), use_threads=False)
        except DAMAGE:
            return pa.schema([(name, self.types[name]) for name in wanted]).empty_table()
        return _before(table, self.taken_back).select(wanted) if cut else table


@dataclass(frozen=True, slots=True, kw_only=True)
class TableBlock:
    """Rows that are in memory already."""

    held: pa.Table
    segment: int = 0
    types: Mapping[str, pa.DataType] = field(default_factory=dict)
    steps: tuple[int, int] | None = None
    taken_back: int = _NEVER

    @classmethod
    def of(cls, held: pa.Table, segment: int = 0) -> "TableBlock":
        """The block of a table."""
        import pyarrow.compute as pc  # costs 40 ms, which opening a run need not pay

        types = {each.name: each.type for each in held.schema}
        span = pc.min_max(held.column(STEP)) if STEP in types and held.num_rows else None
        low, high = (None, None) if span is None else (span["min"].as_py(), span["max"].as_py())
        steps = None if low is None or high is None else (int(low), int(high))
        return cls(held=held, segment=segment, types=types, steps=steps)

    def table(self, names: Iterable[str]) -> pa.Table:
        """The named columns."""
        wanted = [name for name in names if name in self.types]
        return _before(self.held, self.taken_back).select(wanted)


def recorded_blocks(root: Path, first_steps: Mapping[int, int]) -> list[SampleBlock]:
    """The blocks of a recording's directory, in recorded order.

    Args:
        root: the run's directory.
        first_steps: segment -> first step that it recorded; later segments take back what older ones have from there.
    """
    journal = held_frames(root)
    newest = NOTHING
    blocks: list[PartBlock | TableBlock] = []
    for path in part_files(root):
        try:
            file = open_parquet(path)
            covers = parse_covers(file.metadata.metadata)
            newest = max(newest, covers)
            if file.metadata.num_rows:
                blocks.append(_part(path, file, covers[0]))
        except DAMAGE:
            continue
    beyond = [(segment, frame) for segment, frame in journal if (segment, frame.sequence) > newest]
    for segment, members in groupby(beyond, key=itemgetter(0)):
        frames = [frame for _, frame in members]
        blocks.append(TableBlock.of(_framed(frames, segment), segment))
    return list(_current(blocks, first_steps))


def held_block(samples: Samples) -> TableBlock:
    """The block of sample rows in memory; NaN in a foreign log's numbers stands for "no value"."""
    fields, arrays = [], []
    for name, column in samples.columns.items():
        values: Sequence[object] = column.tolist() if isinstance(column, np.ndarray) else column  # type: ignore[assignment]  # a list by contract
        values = [None if value != value else value for value in values] if _floats(column) else values
        kind = column_type(name, values)
        made, array = arrow_column(name, kind, clean_column(kind, values)[0])
        fields.append(made)
        arrays.append(array)
    return TableBlock.of(pa.Table.from_arrays(arrays, schema=pa.schema(fields)))


def _floats(column: object) -> bool:
    return isinstance(column, np.ndarray) and column.dtype.kind == "f"


def _part(path: Path, file: pq.ParquetFile, segment: int) -> PartBlock:
    schema, metadata = file.schema_arrow, file.metadata
    place = schema.get_field_index(STEP)
    spans = [metadata.row_group(index).column(place).statistics for index in range(metadata.num_row_groups)]
    known = spans and all(span is not None and span.has_min_max for span in spans)
    steps = (min(span.min for span in spans), max(span.max for span in spans)) if known else None
    return PartBlock(path=path, segment=segment, types={each.name: each.type for each in schema}, steps=steps)


def _framed(frames: Sequence[SampleFrame], segment: int) -> pa.Table:
    rows = sum(frame.rows for frame in frames)
    columns: dict[str, list[object]] = {
        STEP: [frame.step for frame in frames for _ in range(frame.rows)],
        SEGMENT: [segment] * rows,
        SEQUENCE: [frame.sequence for frame in frames for _ in range(frame.rows)],
    }
    for name in dict.fromkeys(name for frame in frames for name in frame.columns if name not in columns):
        columns[name] = [v for frame in frames for v in frame.columns.get(name, [None] * frame.rows)]
    built = [arrow_column(name, column_type(name, values), values) for name, values in columns.items()]
    return pa.Table.from_arrays([array for _, array in built], schema=pa.schema([made for made, _ in built]))


def _current(blocks: Sequence[PartBlock | TableBlock], first_steps: Mapping[int, int]) -> Iterator[SampleBlock]:
    """The blocks, each with the step from which a later segment took it back; blocks without a row left are skipped."""
    firsts = dict(first_steps)
    for block in blocks:  # a segment whose rows of steps are lost still took back what is older
        if block.segment not in first_steps and block.steps is not None:
            firsts[block.segment] = min(block.steps[0], firsts.get(block.segment, _NEVER))
    for block in blocks:
        back = min((first for segment, first in firsts.items() if segment > block.segment), default=_NEVER)
        if block.steps is None or block.steps[0] < back:
            yield replace(block, taken_back=back)


def _before(table: pa.Table, step: int) -> pa.Table:
    if step == _NEVER or STEP not in table.column_names:
        return table
    import pyarrow.compute as pc  # costs 40 ms, which opening a run need not pay

    _, one = arrow_column(STEP, "int64", [step])  # from buffers: pyarrow's own converter would import pandas
    return table.filter(pc.less(table.column(STEP), one[0]))
