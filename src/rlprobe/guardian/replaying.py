"""A finished run played as if it were live: row by row, the events at their place, by the run's own clock."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from rlprobe.recording.rank_states import sentence
from rlprobe.recording.replay import Moment, replay
from rlprobe.recording.run import Batch, Run, Samples

_STEP_SECONDS = 1.0  # between two rows, where the run does not say


class ReplayFeed:
    """Reveals the rows of a run one after another; the last one can still change until the next is there.

    Args:
        run: the run as a whole. Rows that training took back are not in it.
    """

    def __init__(self, run: Run) -> None:
        self.source = run.source
        self._run = run
        self._segments = dict(zip(run.steps.tolist(), run.row_segments.tolist(), strict=True))
        state = replace(run.manifest, state="recording")
        told = {name: run.metadata(name) for name in run.metrics}
        nothing = np.empty(0, dtype=np.int64)
        lost = {sentence(one) for one in run.reading.ranks if one.lost}  # known at the end alone: no row says when
        notes = tuple(note for note in run.reading.notes if note not in lost)
        before = replace(run.reading, notes=notes, ranks=tuple(one for one in run.reading.ranks if not one.lost))
        self._ready = [Batch(steps=nothing, manifest=state, reading=before, metadata=told)]

    def poll(self) -> Batch | None:
        """What was revealed since the last poll."""
        return self._ready.pop(0) if self._ready else None

    def samples(self, *, step: int | None, columns: tuple[str, ...] | None) -> Samples:
        """Sample rows of the run."""
        return self._run.samples(step=step, columns=columns)

    def reveal(self, moment: Moment) -> None:
        """Let one moment be read."""
        if moment.event is not None:
            self._ready.append(Batch(steps=np.empty(0, dtype=np.int64), events=(moment.event,), complete=False))
        elif moment.values is not None and moment.step is not None:
            there = np.ones(1, dtype=bool)
            self._ready.append(
                Batch(
                    steps=np.array([moment.step], dtype=np.int64),
                    columns={name: (np.array([value]), there) for name, value in moment.values.items()},
                    segments=np.array([self._segments[moment.step]], dtype=np.int64),
                    complete=False,
                )
            )

    def end(self) -> None:
        """Let the end be read: the last row is whole, and the run is over as it was, or closed where it did not say."""
        state = self._run.manifest.state
        over = replace(self._run.manifest, state=state if state in ("closed", "crashed") else "closed")
        self._ready.append(Batch(steps=np.empty(0, dtype=np.int64), manifest=over, reading=self._run.reading))


def moments(run: Run, *, speed: float | None, sleep: Callable[[float], None]) -> Iterator[tuple[float, Moment]]:
    """Every row and event with the time at which it came, waiting in between as training did, `speed` times as fast.

    Args:
        speed: None waits not at all.
        sleep: how to wait, in seconds.
    """
    now: float | None = None
    for moment in replay(run, samples=False):
        before = now
        now = _time(moment, now)
        if speed is not None and before is not None and now > before:
            sleep((now - before) / speed)
        yield now, moment


def _time(moment: Moment, before: float | None) -> float:
    """Seconds by the run's own clock; where rows have none, a step takes as long as it says, or a second."""
    if moment.time is not None and np.isfinite(moment.time):
        return moment.time if before is None else max(before, moment.time)
    if moment.values is None or before is None:
        return 0.0 if before is None else before
    took = moment.values.get("step_seconds", _STEP_SECONDS)
    return before + (took if np.isfinite(took) and took > 0 else _STEP_SECONDS)
