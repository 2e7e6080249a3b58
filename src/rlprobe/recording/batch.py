"""What a feed tells a Run: rows, events, settings, and what reading them cost."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

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
class RankState:
    """What is to be known of one rank of a run of several processes; one that is well has none.

    Attributes:
        rank: its number; 0 is the run's own.
        processes: how many the run has.
        state: "part" (the recording is this rank's alone), "absent" (it left none), "ended" (without closing its own),
            "silent" (no sign of life), "behind" (many steps).
        step: the last that it recorded; None before the first.
        run_step: the last that rank 0 recorded; None before the first.
        silence: seconds since its last sign of life, for "silent".
    """

    rank: int
    processes: int
    state: Literal["part", "absent", "ended", "silent", "behind"]
    step: int | None = None
    run_step: int | None = None
    silence: int = 0

    @property
    def lost(self) -> bool:
        """Whether it was at work and is gone."""
        return self.state in ("ended", "silent")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What reading cost: nothing is left out in silence.

    Attributes:
        dropped: rows the recorder dropped because its queue was full.
        bad_values: values that could not be numbers.
        unreadable: frames, lines or files that could not be read.
        unknown_keys: foreign keys without a canonical name, kept under their own name.
        notes: one sentence each, for a person.
        ranks: the ranks that the notes name.
    """

    dropped: int = 0
    bad_values: int = 0
    unreadable: int = 0
    unknown_keys: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    ranks: tuple[RankState, ...] = ()


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
