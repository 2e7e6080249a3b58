"""Samples into files: CSV, Parquet, JSON. Streams in recorded order; a sorted answer is held in memory and bounded."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from rlprobe.forensics.measures import Vocabulary, kind_of
from rlprobe.forensics.query import Found, fetch
from rlprobe.recording.damage import open_for_arrow
from rlprobe.recording.files import replace_file
from rlprobe.recording.sample_blocks import SampleBlock
from rlprobe.recording.sample_columns import arrow_column, clean_column

BATCH = 4096  # samples that are held at once
MOST_SORTED = 200_000  # samples of a sorted answer, which are held at once
ENDINGS = (".json", ".csv", ".parquet", ".html")
_KINDS = {"condition": "bool", "text": "string", "number": "double"}

SampleRow = Mapping[str, object]


class TooMany(ValueError):
    """A sorted answer of more samples than are held in memory; the message says what to do."""


def ordered_rows(blocks: Sequence[SampleBlock], found: Found) -> Iterator[SampleRow]:
    """The samples in order: streamed when the order is the recorded one, else at once.

    Raises:
        TooMany: they are not in recorded order and more than MOST_SORTED.
    """
    places = found.blocks * (1 << 40) + found.rows
    if bool(np.all(np.diff(places) > 0)):
        for start in range(0, len(found), BATCH):
            yield from fetch(blocks, found.take(np.arange(start, min(start + BATCH, len(found)))))
        return
    if len(found) > MOST_SORTED:
        raise TooMany(
            f"expected at most {MOST_SORTED:,} samples in an order of their own, got {len(found):,}. "
            "Give --limit, or leave out --sort for the recorded order."
        )
    yield from fetch(blocks, found)


def column_names(blocks: Sequence[SampleBlock], words: Vocabulary) -> list[str]:
    """The columns that files get: all that can be compared, in recorded order."""
    names = dict.fromkeys(name for block in blocks for name, arrow in block.types.items() if kind_of(arrow) is not None)
    return [name for name in names if name in words.kinds]


def write_csv(path: Path, names: Sequence[str], rows: Iterator[SampleRow]) -> None:
    """A header and a line a sample; what a sample lacks is empty."""

    def write(temporary: Path) -> None:
        with temporary.open("w", encoding="utf-8", errors="replace", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(names)
            for row in rows:
                writer.writerow([row.get(name, "") for name in names])

    replace_file(path, write)


def write_parquet(
    path: Path, names: Sequence[str], rows: Iterator[SampleRow], blocks: Sequence[SampleBlock], words: Vocabulary
) -> None:
    """A parquet file with the recorded types."""
    kinds = {name: _kind(name, blocks, words) for name in names}

    def write(temporary: Path) -> None:
        with (
            open_for_arrow(temporary) as out,
            pq.ParquetWriter(out, _table((), kinds).schema, compression="zstd") as writer,
        ):
            while batch := list(islice(rows, BATCH)):
                writer.write_table(_table(batch, kinds))

    replace_file(path, write)


def write_text(path: Path, parts: Iterator[str]) -> None:
    """A file of these pieces of text."""

    def write(temporary: Path) -> None:
        with temporary.open("w", encoding="utf-8", errors="replace") as file:
            file.writelines(parts)

    replace_file(path, write)


def _kind(name: str, blocks: Sequence[SampleBlock], words: Vocabulary) -> str:
    kind = words.kinds[name]
    types = [block.types[name] for block in blocks if name in block.types]
    whole = kind == "number" and all(pa.types.is_integer(each) for each in types)
    return "int64" if whole else _KINDS[kind]


def _table(batch: Sequence[SampleRow], kinds: Mapping[str, str]) -> pa.Table:
    built = []
    for name, kind in kinds.items():
        values = [row.get(name) for row in batch]
        cleaned = [None if v is None else str(v) for v in values] if kind == "string" else clean_column(kind, values)[0]
        built.append(arrow_column(name, kind, cleaned))
    return pa.Table.from_arrays([array for _, array in built], schema=pa.schema([field for field, _ in built]))
