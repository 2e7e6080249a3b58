"""Which row of one run stands beside which row of the other: by step, by tokens, or by progress."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from rlprobe.recording.metrics import find
from rlprobe.recording.run import FloatArray, IntArray, Run

Align = Literal["step", "tokens", "progress"]
WIDEST = 512  # rows that are compared; longer runs are averaged into as many blocks
FEWEST = 24  # rows that both runs need for anything to be said of where they part
SCHEDULES = frozenset(  # decided in advance, not by chance
    {"learning_rate", "value_learning_rate", "kl_coefficient", "epoch", "tokens_total"}
)
_CLOCKS = frozenset({"infrastructure"})


class Unalignable(ValueError):
    """The runs cannot be laid side by side as asked; one line says what is missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """One metric of two runs, row beside row.

    Attributes:
        steps: (n,) the first run's step of each row, ascending.
        ours, theirs: (n,) finite values of the first and of the second run.
        last: (n,) the last step that each row stands for; the same as `steps` unless rows were averaged into blocks.
    """

    steps: IntArray
    ours: FloatArray
    theirs: FloatArray
    last: IntArray | None = None

    def __len__(self) -> int:
        return len(self.steps)

    def condensed(self, most: int = WIDEST) -> "Beside":
        """The same in at most `most` rows: means of blocks, each with its first step."""
        width = -(-len(self.steps) // most)
        if width <= 1:
            return self
        starts = np.arange(0, len(self.steps) - width + 1, width)
        means = [x[: len(starts) * width].reshape(-1, width).mean(axis=1) for x in (self.ours, self.theirs)]
        last = self.steps[starts + width - 1]
        return Beside(steps=self.steps[starts], ours=means[0], theirs=means[1], last=last)


def by_chance(name: str) -> bool:
    """Whether a metric is decided by training: no clock, no memory, no schedule."""
    metric = find(name)
    return name not in SCHEDULES and (metric is None or metric.stage not in _CLOCKS)


def shared(ours: Run, theirs: Run) -> list[str]:
    """Metrics that both runs have and that training decides, canonical ones first."""
    return [name for name in ours.metrics if theirs.has(name) and by_chance(name)]


def positions(run: Run, align: Align, speed: float = 1.0) -> FloatArray:
    """(rows,) where each row stands on the axis that the runs are compared on, ascending.

    Args:
        run: one of the two.
        align: the axis.
        speed: with "progress", how many steps of the other run one step of this one is worth.

    Raises:
        Unalignable: "tokens" was asked for and the run logged none.
    """
    steps = run.steps.astype(np.float64)
    if align == "step":
        return steps
    if align == "progress":
        return steps * speed
    return _tokens(run)


def _tokens(run: Run) -> FloatArray:
    total = run.column("tokens_total")
    if np.isfinite(total).any():
        return np.maximum.accumulate(_filled(total))
    each = run.column("completion_tokens_mean") + np.nan_to_num(run.column("prompt_tokens_mean"))
    counts = run.column("samples_count")
    if np.isfinite(each).any() and np.isfinite(counts).any():
        return np.cumsum(_filled(each) * _filled(counts))
    raise Unalignable(
        f"{run.source}: expected tokens_total, or completion_tokens_mean with samples_count, to align by tokens, "
        "got neither. Leave out --align tokens."
    )


def _filled(values: FloatArray) -> FloatArray:
    """Gaps filled with the nearest value before, or the first one."""
    known = np.isfinite(values)
    place = np.maximum.accumulate(np.where(known, np.arange(len(values)), -1))
    return values[np.where(place < 0, int(np.argmax(known)), place)]


def beside(name: str, ours: Run, theirs: Run, places: tuple[FloatArray, FloatArray]) -> Beside:
    """One metric of both runs where both have a finite value, row beside row.

    Args:
        name: the metric.
        ours, theirs: the runs.
        places: position of each row of each run, from positions().
    """
    rows_a, rows_b = (np.flatnonzero(run.logged(name) & np.isfinite(run.column(name))) for run in (ours, theirs))
    pair_a, pair_b = _paired(places[0][rows_a], places[1][rows_b])
    chosen_a, chosen_b = rows_a[pair_a], rows_b[pair_b]
    return Beside(steps=ours.steps[chosen_a], ours=ours.column(name)[chosen_a], theirs=theirs.column(name)[chosen_b])


def _paired(a: FloatArray, b: FloatArray) -> tuple[IntArray, IntArray]:
    """Places that stand side by side: equal ones where there are enough, else for the sparser run the nearest."""
    if len(a) == 0 or len(b) == 0:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    _, first, second = np.intersect1d(a, b, return_indices=True)
    if 2 * len(first) >= min(len(a), len(b)):
        return first, second
    if len(a) > len(b):
        second, first = _paired_nearest(b, a)
        return first, second
    return _paired_nearest(a, b)


def _paired_nearest(sparse: FloatArray, dense: FloatArray) -> tuple[IntArray, IntArray]:
    """For each sparse position inside the dense range the nearest dense one, each dense one at most once."""
    right = np.clip(np.searchsorted(dense, sparse), 1, max(1, len(dense) - 1))
    left = right - 1
    right = np.minimum(right, len(dense) - 1)
    nearest = np.where(np.abs(dense[left] - sparse) <= np.abs(dense[right] - sparse), left, right)
    inside = (sparse >= dense[0]) & (sparse <= dense[-1])
    rows = np.flatnonzero(inside)
    kept, index = np.unique(nearest[rows], return_index=True)
    return rows[index], kept
