"""Sample rows on disk: frames in the journal, then immutable parquet parts sorted by step."""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from rlprobe.recording.damage import DAMAGE, covers_metadata, open_for_arrow, open_parquet, parse_covers, refused, seal
from rlprobe.recording.files import make_directory, replace_file
from rlprobe.recording.frames import END, NOTHING, JournalFile, Position, read_journals, remove_journals
from rlprobe.recording.journal import SampleFrame
from rlprobe.recording.layout import SAMPLE_ROWS, SAMPLES, SEGMENT, SEQUENCE, STEP, parse_part, part_name
from rlprobe.recording.run import BoolArray, IntArray
from rlprobe.recording.sample_columns import arrow_column, column_type, list_of, numbers_of, view_of

PART_ROWS = 4096  # rows of one part, and of its only row group
PART_BYTES = 32 << 20  # characters of text after which a part is full however few rows it has
_STREAM = "samples"
_decoder = msgspec.msgpack.Decoder(SampleFrame)
Columns = dict[str, list[object]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """Sample rows of one part or of one frame."""

    segments: IntArray
    sequences: IntArray
    steps: IntArray
    columns: Mapping[str, object]

    def __len__(self) -> int:
        return len(self.steps)


def part_files(root: Path) -> list[Path]:
    """The parts, in order."""
    found = []
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        for path in (root / SAMPLES).iterdir():
            number = parse_part(path.name)
            if number is not None:
                found.append((number, path))
    return [path for _, path in sorted(found)]


def covered(root: Path) -> tuple[Position, int]:
    """The newest frame that a part holds, and the number that the next part takes.

    Raises:
        OSError: the system refuses to open a part that may be whole.
    """
    parts = part_files(root)
    following = (parse_part(parts[-1].name) or 0) + 1 if parts else 0
    newest = NOTHING
    for path in parts:
        try:
            newest = max(newest, parse_covers(open_parquet(path).metadata.metadata))
        except DAMAGE as error:
            if refused(error):
                raise
    return newest, following


def pending_samples(
    root: Path, covers: Position, before: Position = END
) -> Iterator[tuple[JournalFile, list[SampleFrame], int]]:
    """For each journal file the frames beyond `covers`, each once, and how much of it was unreadable."""
    newest = covers
    for content in read_journals(root, _STREAM, before):
        frames: list[SampleFrame] = []
        unreadable = content.unreadable
        for payload in content.payloads:
            try:
                frame = _decoder.decode(payload)
            except (msgspec.MsgspecError, UnicodeDecodeError):
                unreadable += 1
                continue
            if frame.kind != SAMPLE_ROWS or any(len(values) != frame.rows for values in frame.columns.values()):
                unreadable += 1
            elif (content.file.segment, frame.sequence) > newest:
                newest = (content.file.segment, frame.sequence)
                frames.append(frame)
        yield content.file, frames, unreadable


def snapshot_samples(root: Path, *, before: Position = END, part_rows: int = PART_ROWS) -> int:
    """Turn the journal's sample frames into parts and delete the journal files that they cover.

    Returns:
        rows that were moved.
    Raises:
        OSError: the disk refused; nothing is lost.
    """
    covers, number = covered(root)
    rows = 0
    done: list[JournalFile] = []
    for file, frames, _ in pending_samples(root, covers, before):
        batch: list[SampleFrame] = []
        held = 0
        for frame in frames:
            batch.append(frame)
            held += sum(map(_text_bytes, frame.columns.values()))
            if _count(batch) >= part_rows or held >= PART_BYTES:
                held = 0
                number, rows, batch = _write_part(root, number, file.segment, batch), rows + _count(batch), []
        if batch:
            number, rows = _write_part(root, number, file.segment, batch), rows + _count(batch)
        done.append(file)
    remove_journals(done)
    return rows


def _text_bytes(values: list[object]) -> int:
    """Characters of the texts in a column."""
    types = set(map(type, values))
    if types == {str}:
        return sum(map(len, values))  # type: ignore[arg-type]  # texts, all of them
    return sum(len(value) for value in values if isinstance(value, str)) if str in types else 0


def _count(frames: list[SampleFrame]) -> int:
    return sum(frame.rows for frame in frames)


def _write_part(root: Path, number: int, segment: int, frames: list[SampleFrame]) -> int:
    """Write one part; returns the number of the next."""
    frames = sorted(frames, key=lambda frame: frame.step)
    covers = (segment, max(frame.sequence for frame in frames))
    own: Columns = {
        STEP: [frame.step for frame in frames for _ in range(frame.rows)],
        SEGMENT: [segment] * _count(frames),
        SEQUENCE: [frame.sequence for frame in frames for _ in range(frame.rows)],
    }
    names = dict.fromkeys(name for frame in frames for name in frame.columns)
    merged: Columns = {name: [] for name in names if name not in own}
    for frame in frames:
        empty: list[object] = [None] * frame.rows
        for name, values in merged.items():
            values.extend(frame.columns.get(name, empty))
    make_directory(root / SAMPLES)
    write_columns(root / SAMPLES / part_name(number), {**own, **merged}, covers)
    return number + 1


def write_columns(path: Path, columns: Columns, covers: Position) -> None:
    """Put a part in place."""
    built = [arrow_column(name, column_type(name, values), values) for name, values in columns.items()]
    schema = pa.schema([field for field, _ in built], metadata=covers_metadata(covers))
    table = pa.Table.from_arrays([array for _, array in built], schema=schema)

    def write(temporary: Path) -> None:
        with (
            open_for_arrow(temporary) as out,
            pq.ParquetWriter(
                out,
                schema,
                compression="zstd",
                compression_level=1,
                use_dictionary=False,
                write_statistics=[STEP],
                write_page_checksum=True,
            ) as writer,
        ):
            writer.write_table(table, row_group_size=max(1, table.num_rows))
        seal(temporary)

    replace_file(path, write)


def held_frames(root: Path) -> list[tuple[int, SampleFrame]]:
    """(segment, frame) of what the journal holds. Read before the parts: what leaves it is in a part by then."""
    return [(file.segment, frame) for file, frames, _ in pending_samples(root, NOTHING) for frame in frames]


def read_chunks(
    root: Path, *, step: int | None, columns: tuple[str, ...] | None, damaged: Callable[[Path], None]
) -> Iterator[Chunk]:
    """Every sample row, or those of one step: parts in order, then the journal.

    Args:
        root: the run's directory.
        step: the only step to read.
        columns: the only columns to read, besides the format's own.
        damaged: is told of each part that cannot be read.
    """
    journal = held_frames(root)
    newest = NOTHING
    for path in part_files(root):
        try:
            file = open_parquet(path)
            newest = max(newest, parse_covers(file.metadata.metadata))
            chunk = _read_part(file, step, columns)
        except DAMAGE:
            damaged(path)
            continue
        if chunk is not None:
            yield chunk
    for segment, frame in journal:
        if (segment, frame.sequence) > newest and (step is None or frame.step == step):
            yield _frame_chunk(frame, segment, columns)


def _frame_chunk(frame: SampleFrame, segment: int, columns: tuple[str, ...] | None) -> Chunk:
    return Chunk(
        segments=np.full(frame.rows, segment, dtype=np.int64),
        sequences=np.full(frame.rows, frame.sequence, dtype=np.int64),
        steps=np.full(frame.rows, frame.step, dtype=np.int64),
        columns={name: values for name, values in frame.columns.items() if columns is None or name in columns},
    )


def _read_part(file: pq.ParquetFile, step: int | None, columns: tuple[str, ...] | None) -> Chunk | None:
    place = file.schema_arrow.get_field_index(STEP)
    wanted = (
        []
        if file.num_row_groups == 0
        else [
            index
            for index in range(file.num_row_groups)
            if step is None or _may_hold(file.metadata.row_group(index).column(place).statistics, step)
        ]
    )
    if not wanted:
        return None
    own = (STEP, SEGMENT, SEQUENCE)
    names = [n for n in file.schema_arrow.names if n in own or columns is None or n in columns]
    table = file.read_row_groups(wanted, columns=names)
    steps, segments, sequences = (_integers(table, name) for name in own)
    held = {name: _column(table, name) for name in table.column_names if name not in own}
    chunk = Chunk(steps=steps, segments=segments, sequences=sequences, columns=held)
    return chunk if step is None else take(chunk, steps == step)


def _integers(table: pa.Table, name: str) -> IntArray:
    values = numbers_of(table.column(name))
    if values is None:
        raise ValueError(name)
    return values.astype(np.int64)


def _column(table: pa.Table, name: str) -> object:
    values = numbers_of(table.column(name))
    return list_of(table.schema.field(name), table.column(name)) if values is None else values


def _may_hold(statistics: object, step: int) -> bool:
    return statistics is None or not statistics.has_min_max or statistics.min <= step <= statistics.max  # type: ignore[attr-defined]  # pyarrow is untyped


def take(chunk: Chunk, where: BoolArray) -> Chunk:
    """The chosen rows."""
    chosen = np.flatnonzero(where)
    return Chunk(
        segments=chunk.segments[chosen],
        sequences=chunk.sequences[chosen],
        steps=chunk.steps[chosen],
        columns={
            name: values[chosen] if isinstance(values, np.ndarray) else [values[i] for i in chosen]  # type: ignore[index]  # a list otherwise
            for name, values in chunk.columns.items()
        },
    )


def gather(chunks: list[Chunk], keep: Callable[[Chunk], BoolArray]) -> dict[str, object]:
    """The kept rows of all chunks as columns; a column that a chunk lacks is None there."""
    parts = [take(chunk, keep(chunk)) for chunk in chunks]
    names = dict.fromkeys(name for part in parts for name in part.columns)
    out: dict[str, object] = {
        STEP: np.concatenate([np.empty(0, np.int64), *(part.steps for part in parts)]),
        SEGMENT: np.concatenate([np.empty(0, np.int64), *(part.segments for part in parts)]),
        SEQUENCE: np.concatenate([np.empty(0, np.int64), *(part.sequences for part in parts)]),
    }
    for name in names:
        pieces = [part.columns.get(name, [None] * len(part)) for part in parts]
        if all(isinstance(piece, np.ndarray) for piece in pieces):
            out[name] = np.concatenate(pieces)  # type: ignore[arg-type]  # all are arrays
        else:
            out[name] = view_of([value for piece in pieces for value in _items(piece)])
    return out


def _items(piece: object) -> list[object]:
    if isinstance(piece, np.ndarray):
        return [None if value != value else value for value in piece.tolist()]
    return piece  # type: ignore[return-value]  # a list otherwise
