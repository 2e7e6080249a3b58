"""A feed of rows: what every table-like log has in common once its rows can be taken one after another."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

import numpy as np

from rlprobe.importers.rows.aside import Aside
from rlprobe.importers.rows.configuration import configuration_of, settings_of
from rlprobe.importers.rows.decode import Row
from rlprobe.importers.rows.facts import Facts
from rlprobe.importers.rows.plan import Plan
from rlprobe.importers.rows.table import MAX_COLUMNS, RowTable
from rlprobe.recording.metrics import find
from rlprobe.recording.run import Batch, Event, Manifest, Metadata, Reading, Samples

_SPACING: Final = "logging_steps"  # the setting that is inferred from the distance of steps
_BLOCK: Final = 4096  # rows turned into columns at once


class RowSource(Protocol):
    """Where a log's rows come from.

    Attributes:
        unreadable: lines or rows that could not be read so far.
        settings: canonical settings that the file states outside its rows.
        notes: what a person should know of the reading.
    """

    @property
    def unreadable(self) -> int: ...

    @property
    def settings(self) -> Mapping[str, object]: ...

    @property
    def notes(self) -> tuple[str, ...]: ...

    def take(self, limit: int) -> list[Row]:
        """At most `limit` new rows; an empty list when there is nothing new."""
        ...


@dataclass(slots=True)
class RowFeed:
    """A `Feed` over a source of rows.

    Args:
        source: the path or name the rows come from.
        format: the format's name, for the manifest.
        rows: the rows.
        keys: foreign key -> canonical metric, of the user.
        run: which of several runs in the source, counted from 1; None for the last.
        aside: what the source of the rows tells beside them.
        framework: whose keys the rows have, where the format says so; otherwise the keys tell.
    """

    source: str
    format: str
    rows: RowSource
    keys: Mapping[str, str] | None = None
    run: int | None = None
    aside: Aside = field(default_factory=Aside)
    framework: str = ""
    _table: RowTable = field(init=False)
    _facts: Facts = field(init=False)
    _queue: deque[Batch] = field(default_factory=deque, init=False)
    _told: dict[str, Metadata] = field(default_factory=dict, init=False)
    _configuration: dict[str, object] = field(default_factory=dict, init=False)
    _begun: bool = field(default=False, init=False)
    _told_end: bool = field(default=False, init=False)
    _told_state: tuple[Manifest, Reading] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._table = RowTable(Plan(self.keys, self.framework), run=self.run)
        self._facts = Facts()

    @property
    def runs(self) -> int:
        """How many runs the rows read so far hold."""
        return len(self._table.runs)

    def poll(self) -> Batch | None:
        """The next rows, or None when there is nothing new."""
        while not self._queue:
            taken = self.rows.take(_BLOCK)
            if not taken:
                return self._last_word()
            batches = self._table.add(self._without_configuration(taken))
            for batch in batches:
                self._facts.observe(batch, self._table.plan.framework)
            if batches:
                self._told_state = self._manifest(), self._reading()
                manifest, reading = self._told_state
                new, events = self._new_metadata(), (*batches[-1].events, *self._new_events())
                batches[-1] = replace(batches[-1], manifest=manifest, reading=reading, metadata=new, events=events)
            self._queue.extend(batches)
        return self._queue.popleft()

    def _last_word(self) -> Batch | None:
        """What reading to the end told beyond rows: lines that could not be read, say."""
        state, events = (self._manifest(), self._reading()), self._new_events()
        ended = self.aside.state in ("closed", "crashed")  # then the last row can no longer change
        if state == self._told_state and not events and ended == self._told_end:
            return None
        self._told_state, self._told_end = state, ended
        empty = np.empty(0, dtype=np.int64)
        return Batch(steps=empty, complete=ended, events=events, manifest=state[0], reading=state[1])

    def _new_events(self) -> tuple[Event, ...]:
        events = tuple(self.aside.events)
        self.aside.events.clear()
        return events

    def _without_configuration(self, rows: list[Row]) -> list[Row]:
        """The rows, less a configuration in the first one."""
        first = not self._begun
        self._begun = True
        if first and rows and (configuration := configuration_of(rows[0])) is not None:
            self._configuration = configuration
            return rows[1:]
        return rows

    def samples(self, *, step: int | None, columns: tuple[str, ...] | None) -> Samples:
        """The samples that lie beside the rows, if any do."""
        return Samples() if self.aside.samples is None else self.aside.samples(step, columns)

    def _new_metadata(self) -> dict[str, Metadata]:
        new = {name: known for name, known in self._table.metadata.items() if self._told.get(name) != known}
        self._told.update(new)
        return new

    def _manifest(self) -> Manifest:
        configuration = {**self.aside.configuration, **self._configuration}
        stated = {**settings_of(configuration), **self.rows.settings}
        stated = {**self._facts.read, **stated}
        untold = {*stated, _SPACING} if self.aside.counted else stated.keys()
        inferred = {name: value for name, value in self._facts.inferred.items() if name not in untold}
        return Manifest(
            format=self.format,
            framework=self._table.plan.framework,
            algorithm=self._table.plan.algorithm,
            settings={**inferred, **stated},
            inferred_settings=frozenset(inferred),
            configuration=configuration,
            environment=dict(self.aside.environment),
            run_id=self.aside.run_id,
            state=self.aside.state,
        )

    def _reading(self) -> Reading:
        table = self._table
        known = table.metadata
        return Reading(
            bad_values=table.bad_values,
            unreadable=self.rows.unreadable,
            unknown_keys=tuple(sorted(name for name, meta in known.items() if name == meta.key and find(name) is None)),
            notes=tuple(_notes(table, self.run)) + self.rows.notes,
        )


def _notes(table: RowTable, run: int | None) -> list[str]:
    notes = []
    if len(table.runs) > 1:
        listed = ", ".join(
            f"{i}: steps {first} to {last}, {rows} rows" for i, (first, last, rows) in enumerate(table.runs[:20], 1)
        )
        taken = "the last is read" if run is None else f"run {run} is read"
        notes.append(f"{len(table.runs)} runs are appended in this log ({listed}); {taken}.")
    if table.summaries:
        notes.append(f"{table.summaries} summary rows at the end of training were left out.")
    if table.merged:
        notes.append(
            f"{table.merged} rows joined the row of the same step; a metric logged twice in a step is the mean."
        )
    if table.repeats:
        notes.append(
            f"{table.repeats} rows repeat the rollout numbers of the row before; the repeats do not count as logged."
        )
    if table.beyond:
        more = "at least " if len(table.beyond) >= MAX_COLUMNS else ""
        notes.append(
            f"{more}{len(table.beyond)} keys beyond the bounds of a run ({MAX_COLUMNS} columns) were left out."
        )
    return notes
