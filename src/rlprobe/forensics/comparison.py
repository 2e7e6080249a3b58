"""Two runs, or two sides of several runs, held against each other: everything that `rlprobe diff` tells."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rlprobe.forensics.alignment import FEWEST, Align, Beside, beside, positions, shared
from rlprobe.forensics.fork import Fork, fork, non_finite, schedule_differences
from rlprobe.forensics.level_differences import LevelDifference, end_differences, start_difference
from rlprobe.forensics.parting import Parting, parting, threshold
from rlprobe.forensics.prompt_differences import PromptDifferences, prompt_differences
from rlprobe.forensics.seeds import SideDifference, side_differences
from rlprobe.forensics.settings_differences import SettingDifferences, settings_differences
from rlprobe.forensics.speed import Speed, speed
from rlprobe.recording.run import Run

TOGETHER = 3.0  # standard errors between the runs of a side, by which the sides' changes have to differ


@dataclass(frozen=True, slots=True, kw_only=True)
class Parted:
    """One metric and where it parts."""

    metric: str
    parting: Parting


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheduled:
    """A schedule that departs: its values at the first step where they differ."""

    metric: str
    step: int
    ours: float
    theirs: float


@dataclass(frozen=True, slots=True, kw_only=True)
class NotFinite:
    """A metric that only one side logged as NaN or infinity, and the first step of it."""

    metric: str
    step: int
    on_ours: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Everything known about how two sides differ.

    Attributes:
        ours, theirs: the runs of each side.
        align: the axis on which rows stand side by side.
        settings: what the sides were run with.
        fork: where runs of one seed stop being the same; None for runs that never were.
        scheduled: learning rates and coefficients that differ.
        not_finite: metrics that only one side logged as NaN or infinity, by step.
        partings: metrics whose courses part, by step of the first change.
        speed: one factor on the second side's steps that explains what differs, so that nothing parts along the
            stretched axis; None where none does.
        starts: metrics whose levels differ from the first rows on.
        sides: metrics in which the sides differ beyond the scatter of their runs; needs two runs a side.
        ends: the largest differences over the last rows.
        prompts: prompts whose rewards differ most.
        courses: every metric that was compared, row beside row, in at most 512 rows.
        notes: what the reader should know.
    """

    ours: tuple[Run, ...]
    theirs: tuple[Run, ...]
    align: Align
    settings: SettingDifferences
    fork: Fork | None
    scheduled: tuple[Scheduled, ...]
    not_finite: tuple[NotFinite, ...]
    partings: tuple[Parted, ...]
    speed: Speed | None
    starts: tuple[LevelDifference, ...]
    sides: tuple[SideDifference, ...]
    ends: tuple[LevelDifference, ...]
    prompts: PromptDifferences
    courses: Mapping[str, Beside]
    notes: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        """Rows that stood side by side, of the metric with most."""
        return max((len(pair) for pair in self.courses.values()), default=0)


def compare(ours: Sequence[Run], theirs: Sequence[Run], *, align: Align = "step") -> Comparison:
    """Hold two sides against each other.

    Args:
        ours, theirs: at least one run each; the first of each is compared row by row, the others tell how much the
            runs of one side differ.
        align: the axis on which rows stand side by side.

    Raises:
        Unalignable: "tokens" was asked for and a run logged none.
    """
    a, b = ours[0], theirs[0]
    names = [name for name in shared(a, b) if all(run.has(name) for run in (*ours, *theirs))]
    forked = fork(a, b) if len(ours) == len(theirs) == 1 and align == "step" else None
    factor = None if forked is not None else speed(a, b, names)
    worth = factor.factor if factor is not None and align == "progress" else 1.0
    pairs = _pairs(ours, theirs, names, align, worth)
    partings = tuple(each for each in _partings(pairs) if _shared_by_side(each, ours, theirs))
    if factor is not None and align == "step" and _partings(_pairs(ours, theirs, names, "progress", factor.factor)):
        factor = None  # what parts along the stretched axis too is no matter of pace
    starts = [each for name, pair in pairs if (each := start_difference(name, pair)) is not None] if not forked else []
    sides = tuple(side_differences(ours, theirs, names))
    since = min([each.parting.step for each in partings[:1]] + [each.steps[0] for each in sides], default=None)
    return Comparison(
        ours=tuple(ours),
        theirs=tuple(theirs),
        align=align,
        settings=settings_differences(ours, theirs),
        fork=forked,
        scheduled=tuple(Scheduled(metric=n, step=s, ours=x, theirs=y) for n, s, x, y in schedule_differences(a, b)),
        not_finite=_not_finite(ours, theirs),
        partings=partings,
        speed=factor,
        starts=tuple(sorted(starts, key=lambda each: -each.noise)),
        sides=sides,
        ends=tuple(end_differences(pairs)),
        prompts=prompt_differences(ours, theirs, since),
        courses=dict(pairs),
        notes=tuple(_notes(ours, theirs, pairs)),
    )


def _pairs(
    ours: Sequence[Run], theirs: Sequence[Run], names: Sequence[str], align: Align, factor: float
) -> list[tuple[str, Beside]]:
    """Each metric row beside row; of several runs a side the means."""
    if len(ours) == len(theirs) == 1:
        places = positions(ours[0], align), positions(theirs[0], align, factor)
        out = [(name, beside(name, ours[0], theirs[0], places)) for name in names]
    else:
        out = [(name, _mean_pair(name, ours, theirs, align, factor)) for name in names]
    return [(name, pair.condensed()) for name, pair in out if len(pair)]


def _mean_pair(name: str, ours: Sequence[Run], theirs: Sequence[Run], align: Align, factor: float) -> Beside:
    """The mean course of each side, on the first run's rows that every run has something beside."""
    first = ours[0]
    axis = positions(first, align)
    held: list[Beside] = []
    for side, worth in ((ours, 1.0), (theirs, factor)):
        held += [beside(name, first, run, (axis, positions(run, align, worth))) for run in side]
    steps = held[0].steps
    for each in held[1:]:
        steps = np.intersect1d(steps, each.steps, assume_unique=True)
    values = [each.theirs[np.searchsorted(each.steps, steps)] for each in held]
    means = [np.mean(side, axis=0) for side in (values[: len(ours)], values[len(ours) :])]
    return Beside(steps=steps, ours=means[0], theirs=means[1])


def _partings(pairs: Sequence[tuple[str, Beside]]) -> tuple[Parted, ...]:
    least = threshold(len(pairs), max((len(pair) for _, pair in pairs), default=1))
    found = [Parted(metric=name, parting=each) for name, pair in pairs if (each := parting(pair, least=least))]
    return _in_order(found)


def _in_order(found: Sequence[Parted]) -> tuple[Parted, ...]:
    """By step; of those whose intervals leave open which was first, the one whose step is known best comes first."""
    if not found:
        return ()
    earliest = min(each.parting.interval[1] for each in found)

    def rank(each: Parted) -> tuple[float, ...]:
        low, high = each.parting.interval
        first = low <= earliest
        return (not first, high - low if first else 0, each.parting.step, -each.parting.z)

    return tuple(sorted(found, key=rank))


def _shared_by_side(each: Parted, ours: Sequence[Run], theirs: Sequence[Run]) -> bool:
    """Whether the runs of a side change together: a change of one run among several is no difference of the sides."""
    if min(len(ours), len(theirs)) < 2:
        return True
    a, b = (np.array([_change(run, each) for run in side]) for side in (ours, theirs))
    scatter = float(np.sqrt((a.var(ddof=1) / len(a)) + (b.var(ddof=1) / len(b))))
    return abs(float(a.mean() - b.mean())) > TOGETHER * scatter


def _change(run: Run, each: Parted) -> float:
    """How far a run's level moves at the parting's step."""
    values, reach = run.column(each.metric), max(10, run.rows // 10)
    row = int(np.searchsorted(run.steps, each.parting.step))
    parts = (values[max(0, row - reach) : row], values[row : row + reach])
    before, after = (float(part[np.isfinite(part)].mean()) if np.isfinite(part).any() else 0.0 for part in parts)
    return after - before


def _not_finite(ours: Sequence[Run], theirs: Sequence[Run]) -> tuple[NotFinite, ...]:
    a, b = dict(non_finite(ours)), dict(non_finite(theirs))
    found = [NotFinite(metric=name, step=(a | b)[name], on_ours=name in a) for name in a.keys() ^ b.keys()]
    return tuple(sorted(found, key=lambda each: (each.step, each.metric)))


def _notes(ours: Sequence[Run], theirs: Sequence[Run], pairs: Sequence[tuple[str, Beside]]) -> list[str]:
    notes = []
    rows = max((len(pair) for _, pair in pairs), default=0)
    if rows < FEWEST:
        notes.append(f"The runs share {rows} rows; {FEWEST} are needed to say where courses part.")
    for run in (*ours, *theirs):
        if run.manifest.state == "recording":
            notes.append(
                f"{run.source} is still being written: rows up to step {run.steps[-1] if run.rows else 0} count."
            )
        if count := run.reading.unreadable:
            places = f"{count} place{'s' if count > 1 else ''}"
            notes.append(f"{run.source} is damaged in {places}; what could be read is compared.")
    return notes
