"""A Run: the columnar view of one training run, whoever wrote it down.

A feed (a recording on disk, or an importer of a foreign log) delivers batches of rows; the Run keeps them as float64
columns with a mask of what was logged. A Run only grows, except where training went back to an older step: then the
newer rows replace the older ones in the default view, `rewinds` counts it, and the replaced rows stay in `overwritten`.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from rlprobe.recording.batch import (
    Batch,
    BoolArray,
    Event,
    Feed,
    FloatArray,
    IntArray,
    Manifest,
    Metadata,
    RankState,
    Reading,
    Revision,
    Samples,
    Segment,
    State,
)
from rlprobe.recording.memory_feed import MemoryFeed, batch_from_columns
from rlprobe.recording.metrics import find
from rlprobe.recording.store import Columns

if TYPE_CHECKING:
    from rlprobe.recording.replay import Moment
    from rlprobe.recording.sample_blocks import SampleBlock

__all__ = [
    "Batch",
    "BoolArray",
    "Event",
    "Feed",
    "FloatArray",
    "IntArray",
    "Manifest",
    "MemoryFeed",
    "Metadata",
    "RankState",
    "Reading",
    "Revision",
    "Run",
    "Samples",
    "Segment",
    "State",
    "batch_from_columns",
]


class Run:
    """One training run as numpy columns.

    Args:
        feed: where the rows come from. The Run polls it once on construction and again on every `refresh()`.
    """

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._steps: IntArray = np.empty(0, dtype=np.int64)
        self._segments: IntArray = np.empty(0, dtype=np.int64)
        self._sequences: IntArray = np.empty(0, dtype=np.int64)
        self._columns = Columns()
        self._names: tuple[str, ...] = ()
        self._metadata: dict[str, Metadata] = {}
        self._rows = 0
        self._last_complete = True
        self.events: list[Event] = []
        self.manifest = Manifest()
        self.reading = Reading()
        self.rewinds = 0
        self._rewound_by: int | None = None  # segment of the last rewind; going back further is no other one
        self.revisions = 0  # how often complete rows changed, by a rewind or by values that came late
        self.overwritten: list[Batch] = []
        self.refresh()

    @property
    def source(self) -> str:
        """The path or name that the run was opened from."""
        return self._feed.source

    @property
    def rows(self) -> int:
        """Rows of the default view."""
        return self._rows

    @property
    def complete(self) -> int:
        """Rows that can no longer change: all, or all but the last while its step is being logged."""
        return self._rows if self._last_complete or self._rows == 0 else self._rows - 1

    @property
    def steps(self) -> IntArray:
        """(rows,) trainer step of each row, strictly ascending."""
        return self._steps[: self._rows]

    @property
    def row_segments(self) -> IntArray:
        """(rows,) segment index of each row."""
        return self._segments[: self._rows]

    @property
    def sequences(self) -> IntArray:
        """(rows,) place of each row in the order in which its segment was recorded."""
        return self._sequences[: self._rows]

    @property
    def segments(self) -> list[Segment]:
        """The sessions of the run in the default view."""
        ids = self.row_segments
        if self._rows == 0:
            return []
        starts = np.concatenate([[0], np.flatnonzero(np.diff(ids)) + 1, [self._rows]])
        return [
            Segment(
                index=int(ids[low]),
                first_step=int(self._steps[low]),
                last_step=int(self._steps[high - 1]),
                rows=int(high - low),
            )
            for low, high in pairwise(starts)
        ]

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of every column, canonical ones first in registry order, then foreign keys."""
        if len(self._names) != len(self._columns):
            self._names = tuple(sorted(self._columns, key=lambda name: (find(name) is None, name)))
        return self._names

    def has(self, name: str) -> bool:
        """Whether there is a column of that name."""
        return name in self._columns

    @property
    def algorithm(self) -> str:
        """The training algorithm, "" when unknown."""
        return self.manifest.algorithm

    def column(self, name: str) -> FloatArray:
        """(rows,) values; NaN where logged as NaN and where not logged. All NaN for a metric that is not there."""
        return self._columns.whole(name, self._rows)[0]

    def logged(self, name: str) -> BoolArray:
        """(rows,) whether a value was logged in that row (NaN and infinities count as logged)."""
        return self._columns.whole(name, self._rows)[1]

    def part(self, name: str, first: int, stop: int) -> tuple[FloatArray, BoolArray]:
        """(stop - first,) values and logged mask of some rows of a column; costs those rows alone."""
        return self._columns.part(name, first, stop)

    def begins(self, name: str) -> int:
        """The first row that logged the metric; `rows` where none did."""
        return min(self._columns.begins(name), self._rows)

    def metadata(self, name: str) -> Metadata:
        """What is known of a column; empty for one that is not there."""
        return self._metadata.get(name, Metadata())

    def samples(self, *, step: int | None = None, columns: tuple[str, ...] | None = None) -> Samples:
        """Sample rows of the whole run or of one step; empty when the source holds none."""
        return self._feed.samples(step=step, columns=columns)

    def sample_blocks(self) -> "list[SampleBlock]":
        """The same rows as Arrow blocks, for queries that need few columns of many rows."""
        blocks = getattr(self._feed, "sample_blocks", None)
        if blocks is not None:
            return list(blocks())
        from rlprobe.recording.sample_blocks import held_block  # it builds on Samples

        samples = self.samples()
        return [held_block(samples)] if len(samples) else []

    def replay(self, *, speed: float | None = None) -> "Iterator[Moment]":
        """Rows of steps, samples and events of the default view in the order in which they were recorded.

        Args:
            speed: None tells everything at once; 1 waits as long as training took, 10 a tenth of that.
        """
        from rlprobe.recording.replay import replay  # it builds on Run

        return replay(self, speed=speed)

    def refresh(self) -> int:
        """Read what is new; returns how many rows were added or changed. Costs what the new rows cost."""
        changed = 0
        while (batch := self._feed.poll()) is not None:
            changed += self._append(batch)
        return changed

    def _append(self, batch: Batch) -> int:
        self.events.extend(batch.events)
        self._metadata.update(batch.metadata)
        if batch.manifest is not None:
            self.manifest = batch.manifest
        if batch.reading is not None:
            self.reading = batch.reading
        if (count := len(batch.steps)) == 0:
            self._last_complete = self._last_complete or batch.complete
            return 0
        if batch.revision != "none":
            self._revise(batch)
        if self._rows and batch.steps[0] <= self._steps[self._rows - 1]:
            self._step_back(batch)
        amends = self._rows > 0 and batch.steps[0] == self._steps[self._rows - 1]
        start = self._rows - 1 if amends else self._rows
        self._reserve(start + count)
        self._steps[start : start + count] = batch.steps
        self._segments[start : start + count] = 0 if batch.segments is None else batch.segments
        order = np.arange(start, start + count) if batch.sequences is None else batch.sequences
        self._sequences[start : start + count] = order
        self._columns.append(start, count, batch.columns, whole=batch.complete)
        self._rows = start + count
        self._last_complete = batch.complete
        return count

    def _step_back(self, batch: Batch) -> None:
        """Drop the rows that the batch replaces; an amendment of an incomplete last row is not a rewind."""
        first = int(np.searchsorted(self.steps, batch.steps[0]))
        same_segment = batch.segments is None or batch.segments[0] == self._segments[self._rows - 1]
        if first == self._rows - 1 and batch.steps[0] == self._steps[first] and same_segment:
            return
        self._set_aside(first)
        segment = 0 if batch.segments is None else int(batch.segments[0])
        self.rewinds += batch.revision != "tail" or segment != self._rewound_by
        self._rewound_by = segment
        self.revisions += 1

    def _revise(self, batch: Batch) -> None:
        """Forget rows that are delivered anew; what the batch's segment does not own is a rewind's business."""
        if batch.revision == "all":
            self.overwritten.clear()
            self.rewinds, self._rewound_by = 0, None
            self._forget(0)
        else:
            first = int(np.searchsorted(self.steps, batch.steps[0]))
            segment = 0 if batch.segments is None else batch.segments[0]
            others = np.flatnonzero(self._segments[first : self._rows] != segment)
            self._forget(first + (int(others[-1]) + 1 if len(others) else 0))
        self.revisions += 1

    def _set_aside(self, first: int) -> None:
        dropped = slice(first, self._rows)
        self.overwritten.append(
            Batch(
                steps=self._steps[dropped].copy(),
                segments=self._segments[dropped].copy(),
                sequences=self._sequences[dropped].copy(),
                columns={name: self._columns.copied(name, first, self._rows) for name in self._columns},
            )
        )
        self._forget(first)

    def _forget(self, first: int) -> None:
        self._columns.forget(first, self._rows)
        self._rows = first

    def _reserve(self, rows: int) -> None:
        capacity = len(self._steps)
        if rows <= capacity:
            return
        capacity = max(rows, 2 * capacity, 64)
        self._steps = np.concatenate([self._steps, np.zeros(capacity - len(self._steps), dtype=np.int64)])
        self._segments = np.concatenate([self._segments, np.zeros(capacity - len(self._segments), dtype=np.int64)])
        self._sequences = np.concatenate([self._sequences, np.zeros(capacity - len(self._sequences), dtype=np.int64)])
