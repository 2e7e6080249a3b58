"""How far apart two runs begin and end: levels over their first and their last rows."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rlprobe.forensics.alignment import FEWEST, Beside
from rlprobe.recording.run import FloatArray

START = 20  # first rows that are compared, before training has carried the runs anywhere
FEWEST_START = 10  # rows of it; fewer say nothing of their own noise
INDEPENDENT = 4.0  # rows that remember nothing of each other, at least as many as say what a mean is worth
CLEAR = 8.0  # standard errors, the gap's own autocorrelation allowed for
LARGE = 3.0  # standard deviations of one row's noise; a smaller difference at the start is none
END = 0.1  # fraction of the rows that make the end
SHOWN = 8  # metrics whose ends are told


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelDifference:
    """One metric's level on both sides over some rows.

    Attributes:
        metric: its name.
        ours, theirs: mean levels.
        noise: difference of the levels over the standard deviation of one row of the gap's noise.
    """

    metric: str
    ours: float
    theirs: float
    noise: float


def start_difference(name: str, pair: Beside) -> LevelDifference | None:
    """The difference of the first START rows, where it is one beyond the noise; None where it is none.

    Null: both runs begin at one level, with AR(1) noise. Runs of one base model do, whatever their seed.
    """
    if len(pair) < FEWEST:
        return None
    rows = min(START, len(pair) // 5)
    if rows < FEWEST_START:
        return None
    gap = pair.theirs - pair.ours
    first = gap[:rows]
    phi = _autocorrelation(gap - _course(gap))
    if rows * (1.0 - phi) / (1.0 + phi) < INDEPENDENT:
        return None
    variance = float(np.var(first, ddof=1)) * (1.0 + phi) / (1.0 - phi)
    size, level = abs(float(first.mean())), float(np.mean(np.abs(pair.ours[:rows])))
    floor = 1e-9 + 1e-3 * level
    error = max(math.sqrt(variance / len(first)), floor)
    spread = max(float(np.std(first, ddof=1)), floor)
    if size < CLEAR * error or size < LARGE * spread:
        return None
    return LevelDifference(
        metric=name, ours=float(pair.ours[:rows].mean()), theirs=float(pair.theirs[:rows].mean()), noise=size / spread
    )


def end_differences(pairs: Sequence[tuple[str, Beside]]) -> list[LevelDifference]:
    """The largest differences over the last rows, beside the gap's noise there; a description, not a test."""
    out = []
    for name, pair in pairs:
        if len(pair) < FEWEST:
            continue
        rows = max(5, round(len(pair) * END))
        gap = pair.theirs - pair.ours
        rest = gap - _course(gap)
        spread = max(float(np.std(rest)), 1e-3 * float(np.mean(np.abs(pair.ours))))
        ours, theirs = float(pair.ours[-rows:].mean()), float(pair.theirs[-rows:].mean())
        if spread > 0.0 and abs(theirs - ours) >= spread:
            out.append(LevelDifference(metric=name, ours=ours, theirs=theirs, noise=abs(theirs - ours) / spread))
    return sorted(out, key=lambda each: -each.noise)[:SHOWN]


def _course(gap: FloatArray) -> FloatArray:
    """Moving mean over an eighth of the rows."""
    reach = max(4, len(gap) // 16)
    sums = np.concatenate([[0.0], np.cumsum(gap)])
    place = np.arange(len(gap))
    low, high = np.maximum(0, place - reach), np.minimum(len(gap), place + reach + 1)
    return np.asarray((sums[high] - sums[low]) / (high - low))


def _autocorrelation(rest: FloatArray) -> float:
    power = float(rest @ rest)
    phi = float(rest[1:] @ rest[:-1]) / power if power > 0 else 0.0
    return min(0.95, max(0.0, phi + (1.0 + 4.0 * phi) / len(rest)))
