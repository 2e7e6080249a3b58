"""A Run told again: rows of steps, samples and events of the default view, in the order in which they were recorded."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from rlprobe.recording.run import Event, Run, Samples

_Position = tuple[int, int, int]  # segment, sequence number, kind: samples before the row of their step, events last
_SAMPLES, _STEP, _EVENT = range(3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """One thing that was recorded: exactly one of `values` (a row of steps), `samples` and `event` is there.

    Attributes:
        step: the step that it belongs to; None for an event that belongs to none.
        time: seconds since 1970; None when unknown.
    """

    step: int | None
    time: float | None = None
    values: Mapping[str, float] | None = None
    samples: Samples | None = None
    event: Event | None = None


def replay(
    run: Run, *, speed: float | None = None, sleep: Callable[[float], None] = time.sleep, samples: bool = True
) -> Iterator[Moment]:
    """Everything in the run, oldest first.

    Args:
        run: from a recording (exact order) or from an importer (events follow the row of their step).
        speed: None tells everything at once; 1 waits between moments as long as training took, 10 a tenth of that.
        sleep: how to wait, in seconds.
        samples: whether samples are told too.

    Raises:
        ValueError: speed is not above 0.
    """
    if speed is not None and not speed > 0:
        raise ValueError(f"speed: expected a number above 0, got {speed}. 1 is as fast as training was.")
    before: float | None = None
    batches = _samples(run) if samples else ()
    for _, moment in sorted([*_rows(run), *batches, *_events(run)], key=lambda pair: pair[0]):
        told = moment()
        if speed is not None and told.time is not None:
            if before is not None and told.time > before:
                sleep((told.time - before) / speed)
            before = told.time
        yield told


_Entry = tuple[_Position, Callable[[], Moment]]


def _rows(run: Run) -> Iterator[_Entry]:
    for row in range(run.rows):
        yield (int(run.row_segments[row]), int(run.sequences[row]), _STEP), lambda row=row: _row(run, row)  # type: ignore[misc]  # bound early


def _row(run: Run, row: int) -> Moment:
    values = {name: float(run.column(name)[row]) for name in run.metrics if run.logged(name)[row]}
    return Moment(step=int(run.steps[row]), time=values.get("wall_time"), values=values)


def _samples(run: Run) -> Iterator[_Entry]:
    index = run.samples(columns=("step", "segment", "sequence"))
    if not index.rows or "step" not in index.columns:
        return
    steps = np.asarray(index.columns["step"])
    place = {int(step): row for row, step in enumerate(run.steps)}
    for step, at in zip(*np.unique(steps, return_index=True), strict=True):
        row = place.get(int(step), run.rows - 1)
        position = (int(run.row_segments[row]), int(run.sequences[row]), _SAMPLES) if run.rows else (0, 0, _SAMPLES)
        if "sequence" in index.columns and "segment" in index.columns:
            segment, sequence = (np.asarray(index.columns[name])[at] for name in ("segment", "sequence"))
            position = (int(segment), int(sequence), _SAMPLES)
        yield position, lambda step=int(step): Moment(step=step, samples=run.samples(step=step))  # type: ignore[misc]  # bound early


def _events(run: Run) -> Iterator[_Entry]:
    for event in run.events:
        segment, sequence = event.fields.get("segment"), event.fields.get("sequence")
        if not (isinstance(segment, int) and isinstance(sequence, int)):
            row = int(np.searchsorted(run.steps, event.step, side="right")) - 1 if event.step is not None else 0
            known = run.rows > 0 and row >= 0
            segment, sequence = (int(run.row_segments[row]), int(run.sequences[row])) if known else (0, -1)
        yield (segment, sequence, _EVENT), lambda event=event: Moment(step=event.step, time=event.time, event=event)  # type: ignore[misc]  # bound early
