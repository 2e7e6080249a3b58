"""Sample rows of all ranks as one table, each with the rank that recorded it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from rlprobe.recording.layout import SEGMENT, SEQUENCE, STEP
from rlprobe.recording.rank_tail import segments_of
from rlprobe.recording.reader import RecordingFeed
from rlprobe.recording.run import IntArray, Samples
from rlprobe.recording.sample_blocks import SampleBlock
from rlprobe.recording.sample_columns import arrow_column
from rlprobe.recording.samples import Chunk, gather

RANK = "rank"


def merged_samples(
    feeds: Mapping[int, RecordingFeed],
    begins: Mapping[int, tuple[float, ...]],
    *,
    step: int | None,
    columns: tuple[str, ...] | None,
) -> Samples:
    """The ranks' sample rows in ascending steps, those of a step by rank.

    Args:
        feeds: rank -> its recording.
        begins: rank -> when each of its segments began; a session of a rank is one of rank 0's.
        step: the step whose rows are wanted; None for all.
        columns: the columns that are wanted; None for all.
    """
    own = (STEP, SEGMENT, SEQUENCE)
    read = None if columns is None else tuple(dict.fromkeys((*columns, *own)))
    chunks = [
        _chunk(feed.samples(step=step, columns=read), rank, begins.get(rank, ()), begins.get(0, ()))
        for rank, feed in sorted(feeds.items())
    ]
    held = gather([chunk for chunk in chunks if len(chunk)], lambda chunk: np.ones(len(chunk), dtype=bool))
    whole = Chunk(
        steps=_integers(held.pop(STEP)),
        segments=_integers(held.pop(SEGMENT)),
        sequences=_integers(held.pop(SEQUENCE)),
        columns=held,
    )
    ordered = _in_order(whole)
    found: dict[str, object] = {STEP: ordered.steps, SEGMENT: ordered.segments, SEQUENCE: ordered.sequences}
    found |= ordered.columns
    wanted = found if columns is None else {name: column for name, column in found.items() if name in columns}
    return Samples(columns=wanted, rows=len(ordered))


def _chunk(samples: Samples, rank: int, begins: tuple[float, ...], of_run: tuple[float, ...]) -> Chunk:
    held = dict(samples.columns)
    steps, segments, sequences = (_integers(held.pop(name, np.empty(0))) for name in (STEP, SEGMENT, SEQUENCE))
    if rank:
        place = segments_of(begins, of_run)
        segments = np.array([place[each] if each < len(place) else each for each in segments.tolist()], dtype=np.int64)
    return Chunk(
        steps=steps,
        segments=segments,
        sequences=sequences,
        columns={RANK: np.full(len(steps), rank, dtype=np.int64), **held},
    )


def _in_order(chunk: Chunk) -> Chunk:
    """The rows in ascending steps; those of a step stay in their order."""
    order = np.argsort(chunk.steps, kind="stable")
    return Chunk(
        steps=chunk.steps[order],
        segments=chunk.segments[order],
        sequences=chunk.sequences[order],
        columns={
            name: values[order] if isinstance(values, np.ndarray) else [values[row] for row in order.tolist()]  # type: ignore[index]  # a list otherwise
            for name, values in chunk.columns.items()
        },
    )


def _integers(values: object) -> IntArray:
    return np.asarray(values, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class RankBlock:
    """A block of one rank's rows, with its number as a column."""

    inner: SampleBlock
    rank: int

    @property
    def types(self) -> Mapping[str, pa.DataType]:
        """Column -> Arrow type."""
        return {**self.inner.types, RANK: pa.int64()}

    @property
    def steps(self) -> tuple[int, int] | None:
        """Smallest and largest step."""
        return self.inner.steps

    def table(self, names: Iterable[str]) -> pa.Table:
        """The named columns that the block has."""
        wanted = list(names)
        if RANK not in wanted:
            return self.inner.table(wanted)
        others = [name for name in wanted if name != RANK]
        table = self.inner.table(others or [STEP])
        field, column = arrow_column(RANK, "int64", [self.rank] * table.num_rows)
        held = {each.name: (each, table.column(each.name)) for each in table.schema} | {RANK: (field, column)}
        chosen = [held[name] for name in wanted if name in held]
        return pa.Table.from_arrays([one for _, one in chosen], schema=pa.schema([each for each, _ in chosen]))
