"""A Run: the columnar view of one training run, whoever wrote it down.

A feed (a recording on disk, or an importer of a foreign log) delivers batches of rows; the Run keeps them as float64
columns with a mask of what was logged. A Run only grows, except where training went back to an older step: then the
newer rows replace the older ones in the default view, `rewinds` counts it, and the replaced rows stay in `overwritten`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from rlprobe.recording.metrics import find

if TYPE_CHECKING:
    from rlprobe.recording.replay import Moment
    from rlprobe.recording.sample_blocks import SampleBlock

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]

State = Literal["recording", "closed", "crashed", "unknown"]
Revision = Literal["none", "tail", "all"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """What is known of one column beyond the registry.

    Attributes:
        unit: unit of the numbers ("" when unknown).
        estimator: "k1", "k2", "k3", "monte carlo" ... ("" when unknown or not applicable).
        pair: the two distributions of a divergence: "policy/reference", "policy/old", "sampler/policy" ("" otherwise).
        per: "token", "sequence" or "" when unknown.
        key: the key under which the source logged it.
        note: a trap that a reader of the number should know ("" when none).
        inferred: whether the column was computed from other columns instead of read.
    """

    unit: str = ""
    estimator: str = ""
    pair: str = ""
    per: str = ""
    key: str = ""
    note: str = ""
    inferred: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened at a step: a checkpoint, a crash, a resume.

    Attributes:
        kind: one of the kinds of docs/recording-format.md.
        step: the step it belongs to; None when it belongs to none.
        time: seconds since 1970; None when the source does not say.
        fields: the kind's own fields, JSON values only.
    """

    kind: str
    step: int | None
    time: float | None = None
    fields: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """One session of a run: the rows [first_row, last_row] of the order in which they were recorded."""

    index: int
    first_step: int
    last_step: int
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What is known of a run as a whole. Absent facts are empty, never guessed without saying so.

    Attributes:
        format: "recording", "trl-console", "jsonl" ...
        algorithm: "grpo", "rloo", "ppo", "dpo" ...; "" when unknown.
        framework: "trl", "verl" ...; "" when unknown.
        settings: canonical setting name (recording/settings.py) -> value.
        inferred_settings: names of settings that were computed from the rows instead of read.
        configuration: the trainer's own configuration as found, redacted.
        environment: versions, devices, host kind; redacted.
        state: whether more rows can come.
        raw: the rest of a recording's manifest.json.
    """

    format: str = "unknown"
    algorithm: str = ""
    framework: str = ""
    run_id: str = ""
    settings: Mapping[str, object] = field(default_factory=dict)
    inferred_settings: frozenset[str] = frozenset()
    configuration: Mapping[str, object] = field(default_factory=dict)
    environment: Mapping[str, object] = field(default_factory=dict)
    state: State = "unknown"
    raw: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What reading cost: nothing is left out in silence.

    Attributes:
        dropped: rows the recorder dropped because its queue was full.
        bad_values: values that could not be numbers.
        unreadable: frames, lines or files that could not be read.
        unknown_keys: foreign keys without a canonical name, kept under their own name.
        notes: one sentence each, for a person.
    """

    dropped: int = 0
    bad_values: int = 0
    unreadable: int = 0
    unknown_keys: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """New rows from a feed, oldest first.

    Attributes:
        steps: (n,) trainer steps, non-decreasing. A first step equal to the Run's last step amends that row; a first
            step below it is a rewind: the Run's rows from that step on are replaced.
        columns: name -> ((n,) values, (n,) logged mask). A NaN with mask True was logged as NaN.
        segments: (n,) segment index of each row.
        sequences: (n,) place of each row in the order of recording; None is the order of the rows.
        complete: whether the last row can no longer change.
        events: new events in recorded order.
        manifest, reading: the whole current state, not a difference; None when unchanged.
        metadata: column name -> metadata, for columns that are new.
        revision: "tail" when values came late for complete rows of the same segment: the Run's rows from the first step
            on are delivered anew; "all" when every row is.
    """

    steps: IntArray
    columns: Mapping[str, tuple[FloatArray, BoolArray]] = field(default_factory=dict)
    segments: IntArray | None = None
    sequences: IntArray | None = None
    complete: bool = True
    events: tuple[Event, ...] = ()
    manifest: Manifest | None = None
    reading: Reading | None = None
    metadata: Mapping[str, Metadata] = field(default_factory=dict)
    revision: Revision = "none"


class Feed(Protocol):
    """Where a Run's rows come from."""

    source: str

    def poll(self) -> Batch | None:
        """The rows since the last poll, or None when there is nothing new. Never raises for damaged data."""
        ...

    def samples(self, *, step: int | None, columns: tuple[str, ...] | None) -> "Samples":
        """Sample rows in recorded order, all of them or those of one step."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Samples:
    """Sample rows as columns of equal length; a column is an ndarray of numbers or a list of str, lists or None."""

    columns: Mapping[str, object] = field(default_factory=dict)
    rows: int = 0

    def __len__(self) -> int:
        return self.rows


class _Column:
    __slots__ = ("logged", "values")

    def __init__(self, capacity: int) -> None:
        self.values: FloatArray = np.full(capacity, np.nan)
        self.logged: BoolArray = np.zeros(capacity, dtype=bool)

    def grow(self, capacity: int) -> None:
        values, logged = self.values, self.logged
        self.values = np.full(capacity, np.nan)
        self.logged = np.zeros(capacity, dtype=bool)
        self.values[: len(values)] = values
        self.logged[: len(logged)] = logged


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
        self._columns: dict[str, _Column] = {}
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
        column = self._columns.get(name)
        return np.full(self._rows, np.nan) if column is None else column.values[: self._rows]

    def logged(self, name: str) -> BoolArray:
        """(rows,) whether a value was logged in that row (NaN and infinities count as logged)."""
        column = self._columns.get(name)
        return np.zeros(self._rows, dtype=bool) if column is None else column.logged[: self._rows]

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
        for name, (values, logged) in batch.columns.items():
            column = self._columns.get(name)
            if column is None:
                column = self._columns[name] = _Column(len(self._steps))
            where = np.flatnonzero(logged)
            column.values[start + where] = values[where]
            column.logged[start + where] = True
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
                columns={
                    name: (column.values[dropped].copy(), column.logged[dropped].copy())
                    for name, column in self._columns.items()
                },
            )
        )
        self._forget(first)

    def _forget(self, first: int) -> None:
        for column in self._columns.values():
            column.values[first : self._rows] = np.nan
            column.logged[first : self._rows] = False
        self._rows = first

    def _reserve(self, rows: int) -> None:
        capacity = len(self._steps)
        if rows <= capacity:
            return
        capacity = max(rows, 2 * capacity, 64)
        self._steps = np.concatenate([self._steps, np.zeros(capacity - len(self._steps), dtype=np.int64)])
        self._segments = np.concatenate([self._segments, np.zeros(capacity - len(self._segments), dtype=np.int64)])
        self._sequences = np.concatenate([self._sequences, np.zeros(capacity - len(self._sequences), dtype=np.int64)])
        for column in self._columns.values():
            column.grow(capacity)


@dataclass(slots=True)
class MemoryFeed:
    """A feed of batches that are already in memory: for importers that read a whole file, and for tests."""

    source: str
    batches: list[Batch]
    sample_columns: Mapping[str, object] = field(default_factory=dict)
    sample_rows: int = 0

    def poll(self) -> Batch | None:
        """The next batch, or None."""
        return self.batches.pop(0) if self.batches else None

    def samples(self, *, step: int | None, columns: tuple[str, ...] | None) -> Samples:
        """Sample rows, filtered by step and columns."""
        wanted = (
            self.sample_columns if columns is None else {n: c for n, c in self.sample_columns.items() if n in columns}
        )
        if step is None:
            return Samples(columns=wanted, rows=self.sample_rows)
        keep = np.flatnonzero(np.asarray(self.sample_columns["step"]) == step) if self.sample_rows else np.empty(0, int)
        taken = {
            name: values[keep] if isinstance(values, np.ndarray) else [values[i] for i in keep]  # type: ignore[index]  # a list by contract
            for name, values in wanted.items()
        }
        return Samples(columns=taken, rows=len(keep))


def batch_from_columns(steps: IntArray, columns: Mapping[str, FloatArray], **rest: object) -> Batch:
    """A batch whose every finite or infinite value counts as logged and NaN as not logged."""
    pairs = {name: (values, ~np.isnan(values)) for name, values in columns.items()}
    return Batch(steps=steps, columns=pairs, **rest)  # type: ignore[arg-type]  # rest are Batch's own fields
