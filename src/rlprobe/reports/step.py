"""What is known of one step of a run, or of a window of steps, gathered for showing. Takes a Run, judges nothing."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rlprobe.doctor.finding import Diagnosis, Finding
from rlprobe.recording.metrics import METRICS, find
from rlprobe.recording.run import Event, Metadata, Run, Samples
from rlprobe.reports.levels import level

FOREIGN = "other"  # stage of metrics that have no canonical name
USUAL_ROWS = 20  # rows before a step that say what is usual
FEWEST_USUAL = 5  # logged rows among them, from which a distance is told


@dataclass(frozen=True, slots=True, kw_only=True)
class Usual:
    """What a metric was like over some rows before.

    Attributes:
        mean, deviation: over rows.
        rows: how many logged it.
        level: the rows as one number, as the metric aggregates.
    """

    mean: float
    deviation: float
    rows: int
    level: float

    def away(self, value: float) -> float | None:
        """How many standard deviations a value lies from the mean, infinitely many from a constant; None if unknown."""
        if self.rows < FEWEST_USUAL or not math.isfinite(value):
            return None
        gap = value - self.mean
        if self.deviation <= 1e-9 * abs(self.mean):
            return 0.0 if abs(gap) <= 1e-9 * abs(self.mean) else math.copysign(math.inf, gap)
        return gap / self.deviation


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """One metric at one step: its value, the one before (None where nothing was logged) and the rows before."""

    metric: str
    stage: str
    unit: str
    value: float
    previous: float | None
    usual: Usual | None
    metadata: Metadata


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step: its metrics by stage, its events, its samples, and how often training went back over it."""

    source: str
    step: int
    segment: int
    values: tuple[Value, ...]
    events: tuple[Event, ...]
    samples: Samples
    replaced: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """One metric over a window: the logged values, oldest first, at least one; and as many rows before the window."""

    metric: str
    stage: str
    unit: str
    steps: tuple[int, ...]
    values: tuple[float, ...]
    earlier: Usual | None

    @property
    def mean(self) -> float | None:
        """Mean of the finite values; None where there is none."""
        finite = [value for value in self.values if math.isfinite(value)]
        return sum(finite) / len(finite) if finite else None

    @property
    def level(self) -> float | None:
        """The finite values as one number, as the metric aggregates; None where there is none."""
        return level(self.metric, self.values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Steps [first, last] of a run: every metric's course and the events."""

    source: str
    first: int
    last: int
    rows: int
    courses: tuple[Course, ...]
    events: tuple[Event, ...]


class NoSuchStep(ValueError):
    """The run has no row there; the message is one line that says which steps it has."""


def at(run: Run, step: int) -> Step:
    """Everything the run holds of one step.

    Raises:
        NoSuchStep: no row was logged for it.
    """
    row = int(np.searchsorted(run.steps, step))
    if row == run.rows or run.steps[row] != step:
        raise NoSuchStep(_absent(run, row, f"step {step}"))
    return Step(
        source=run.source,
        step=step,
        segment=int(run.row_segments[row]),
        values=tuple(_values(run, row)),
        events=tuple(event for event in run.events if event.step == step),
        samples=run.samples(step=step),
        replaced=sum(int(np.isin(step, batch.steps)) for batch in run.overwritten),
    )


def between(run: Run, first: int, last: int) -> Window:
    """Every metric from step `first` to step `last`, both included.

    Raises:
        NoSuchStep: no row lies there.
    """
    start, stop = int(np.searchsorted(run.steps, first)), int(np.searchsorted(run.steps, last, side="right"))
    if start >= stop:
        raise NoSuchStep(_absent(run, start, f"a row in steps {first} to {last}"))
    return Window(
        source=run.source,
        first=first,
        last=last,
        rows=stop - start,
        courses=tuple(_courses(run, slice(start, stop))),
        events=tuple(  # of one step as they were told: of several ranks those of rank 0 come first
            sorted(
                (event for event in run.events if event.step is not None and first <= event.step <= last),
                key=lambda event: event.step or 0,
            )
        ),
    )


def active(diagnosis: Diagnosis, first: int, last: int) -> list[Finding]:
    """Findings that began by step `last` and had not recovered by step `first`, in reading order."""
    return [
        finding
        for finding in diagnosis.findings
        if finding.onset_step <= last and (finding.recovered_step is None or finding.recovered_step >= first)
    ]


def document(facts: Step, findings: Sequence[Finding] = ()) -> Mapping[str, object]:
    """The step as a tree for JSON; sample columns of raw bytes are left out."""
    return {
        "schema": "rlprobe.step/1",
        "source": facts.source,
        "step": facts.step,
        "segment": facts.segment,
        "replaced": facts.replaced,
        "metrics": {value.metric: value.value for value in facts.values},
        "usual": {value.metric: _usual(value.usual) for value in facts.values if value.usual is not None},
        "units": {value.metric: value.unit for value in facts.values if value.unit},
        "events": [_event(event) for event in facts.events],
        "findings": [_finding(finding) for finding in findings],
        "samples": list(sample_rows(facts.samples)),
    }


def window_document(
    facts: Window, findings: Sequence[Finding] = (), samples: Sequence[Mapping[str, object]] = ()
) -> Mapping[str, object]:
    """The window as a tree for JSON."""
    return {
        "schema": "rlprobe.window/1",
        "source": facts.source,
        "steps": (facts.first, facts.last),
        "rows": facts.rows,
        "metrics": {
            course.metric: {
                "steps": course.steps,
                "values": course.values,
                "level": course.level,
                "before": _usual(course.earlier),
            }
            for course in facts.courses
        },
        "events": [_event(event) for event in facts.events],
        "findings": [_finding(finding) for finding in findings],
        "samples": list(samples),
    }


def sample_rows(samples: Samples) -> Iterator[Mapping[str, object]]:
    """The samples one by one, each with the columns that it has a value in."""
    for index in range(len(samples)):
        row = {name: _plain(column[index]) for name, column in samples.columns.items()}  # type: ignore[index]  # columns are sequences by contract
        yield {name: value for name, value in row.items() if value is not None}


def _plain(value: object) -> object:
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, bytes) else value


def _event(event: Event) -> Mapping[str, object]:
    return {"kind": event.kind, "step": event.step, "time": event.time, "fields": event.fields}


def _finding(finding: Finding) -> Mapping[str, object]:
    return {
        "key": finding.key,
        "id": finding.id,
        "severity": finding.severity,
        "title": finding.title,
        "onset_step": finding.onset_step,
        "recovered_step": finding.recovered_step,
        "root": finding.root,
    }


def _usual(usual: Usual | None) -> Mapping[str, object] | None:
    if usual is None:
        return None
    return {"mean": usual.mean, "deviation": usual.deviation, "rows": usual.rows, "level": usual.level}


def _before(run: Run, name: str, row: int, rows: int) -> Usual | None:
    """The metric over the `rows` rows before a row; None where none of them has a finite value."""
    before = run.column(name)[max(0, row - rows) : row]
    finite = before[np.isfinite(before)]
    if (known := level(name, finite)) is None:
        return None
    return Usual(mean=float(finite.mean()), deviation=float(finite.std()), rows=len(finite), level=known)


def _values(run: Run, row: int) -> Iterator[Value]:
    for name in _in_reading_order(run):
        logged = run.logged(name)[: row + 1]
        if not logged[row]:
            continue
        column, earlier = run.column(name), np.flatnonzero(logged[:row])
        stage, unit = _place(run, name)
        previous = float(column[earlier[-1]]) if len(earlier) else None
        metadata = run.metadata(name)
        yield Value(
            metric=name,
            stage=stage,
            unit=unit,
            value=float(column[row]),
            previous=previous,
            usual=_before(run, name, row, USUAL_ROWS),
            metadata=metadata,
        )


def _courses(run: Run, rows: slice) -> Iterator[Course]:
    for name in _in_reading_order(run):
        where = np.flatnonzero(run.logged(name)[rows])
        if len(where) == 0:
            continue
        stage, unit = _place(run, name)
        steps, values = run.steps[rows][where].tolist(), run.column(name)[rows][where].tolist()
        earlier = _before(run, name, rows.start, rows.stop - rows.start)
        yield Course(metric=name, stage=stage, unit=unit, steps=tuple(steps), values=tuple(values), earlier=earlier)


def _in_reading_order(run: Run) -> list[str]:
    """Canonical metrics in the order of the registry, which goes stage by stage; foreign keys last."""
    rank = {metric.name: index for index, metric in enumerate(METRICS)}
    known = {name: metric.name for name in run.metrics if (metric := find(name)) is not None}
    return sorted(run.metrics, key=lambda name: (rank[known[name]] if name in known else len(rank), name))


def _place(run: Run, name: str) -> tuple[str, str]:
    """Stage and unit of a metric."""
    metric = find(name)
    if metric is None:
        return FOREIGN, run.metadata(name).unit
    return metric.stage, run.metadata(name).unit or metric.unit


def _absent(run: Run, row: int, wanted: str) -> str:
    if run.rows == 0:
        return f"{run.source}: expected {wanted}, but the run has no rows."
    near = sorted({int(run.steps[index]) for index in (row - 1, row) if 0 <= index < run.rows})
    offer = " or ".join(map(str, near))
    return f"{run.source}: expected {wanted} among steps {run.steps[0]} to {run.steps[-1]}, found none. Take {offer}."
