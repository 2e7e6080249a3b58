"""Several runs a side: where the sides differ by more than the runs of one side differ among themselves."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from rlprobe.forensics.parting import SKEWED
from rlprobe.recording.run import FloatArray, Run

WINDOWS = 12  # stretches that the common steps are cut into
ROWS = 5  # logged rows of a run that make a stretch, at least
ALARM = 0.01  # expected false alarms of one comparison
PRIOR = 1.0  # weight of a metric's usual variance beside that of one stretch, in degrees of freedom of the stretch
LASTING = 2  # stretches in a row


@dataclass(frozen=True, slots=True, kw_only=True)
class SideDifference:
    """One metric in which the sides differ.

    Attributes:
        metric: its name.
        steps: first and last step of the first stretch in which they differ.
        z: the difference in that stretch as standard deviations of a normal variable.
        ours, theirs: mean level of each side over the stretches from there on.
        spread: standard deviation of the runs of one side there.
        lasting: whether they still differ in the last stretch.
    """

    metric: str
    steps: tuple[int, int]
    z: float
    ours: float
    theirs: float
    spread: float
    lasting: bool


def side_differences(ours: Sequence[Run], theirs: Sequence[Run], names: Sequence[str]) -> list[SideDifference]:
    """Metrics whose levels differ between the sides, those that do so first first.

    Null: runs of both sides come from one distribution; their stretch means are normal, with a variance that a metric's
    stretches share in part. Needs two runs on each side.

    Source: Smyth 2004, Linear models and empirical Bayes methods (a variance moderated by its peers'), with the prior's
    weight fixed at PRIOR instead of fitted.
    """
    edges = _edges((*ours, *theirs))
    if edges is None or min(len(ours), len(theirs)) < 2:
        return []
    least = NormalDist().inv_cdf(1.0 - ALARM / (2.0 * max(1, len(names)) * (len(edges) - 1)))
    found = [each for name in names if (each := _difference(name, ours, theirs, edges, least)) is not None]
    return sorted(found, key=lambda each: (each.steps[0], -each.z))


def _edges(runs: Sequence[Run]) -> FloatArray | None:
    """Steps at which the stretches begin, and the end of the last one; None where the runs share too few."""
    if any(run.rows == 0 for run in runs):
        return None
    first, last = max(int(run.steps[0]) for run in runs), min(int(run.steps[-1]) for run in runs)
    rows = min(int(np.count_nonzero((run.steps >= first) & (run.steps <= last))) for run in runs)
    count = min(WINDOWS, rows // ROWS)
    return None if count < LASTING else np.linspace(first, last + 1, count + 1)


def _difference(
    name: str, ours: Sequence[Run], theirs: Sequence[Run], edges: FloatArray, least: float
) -> SideDifference | None:
    plain = [np.stack([_means(run, name, edges) for run in side]) for side in (ours, theirs)]
    both = np.concatenate(plain)
    if np.isnan(both).any():
        return None
    positive = float(both.min()) > 0 and float(both.max()) > SKEWED * float(np.median(both))
    a, b = (np.log(side) if positive else side for side in plain)
    freedom = len(a) + len(b) - 2
    variance = (a.var(axis=0, ddof=1) * (len(a) - 1) + b.var(axis=0, ddof=1) * (len(b) - 1)) / freedom
    moderated = (variance + PRIOR * variance.mean()) / (1.0 + PRIOR)
    floor = 1e-12 + 1e-6 * np.abs(np.concatenate([a, b]).mean(axis=0)) ** 2
    t = (a.mean(axis=0) - b.mean(axis=0)) / np.sqrt(np.maximum(moderated, floor) * (1.0 / len(a) + 1.0 / len(b)))
    z = _normal(np.abs(t), freedom * (1.0 + PRIOR)) * np.sign(t)
    beyond = np.abs(z) >= least
    runs_of = beyond[:-1] & beyond[1:] & (np.sign(z[:-1]) == np.sign(z[1:]))
    if not runs_of.any():
        return None
    at = int(np.argmax(runs_of))
    return SideDifference(
        metric=name,
        steps=(int(np.ceil(edges[at])), int(np.ceil(edges[at + 1])) - 1),
        z=float(abs(z[at])),
        ours=float(plain[0][:, at:].mean()),
        theirs=float(plain[1][:, at:].mean()),
        spread=float(np.sqrt((plain[0].var(axis=0, ddof=1) + plain[1].var(axis=0, ddof=1))[at:].mean() / 2.0)),
        lasting=bool(beyond[-1] and np.sign(z[-1]) == np.sign(z[at])),
    )


def _means(run: Run, name: str, edges: FloatArray) -> FloatArray:
    """(stretches,) mean of the finite values of each stretch; NaN where there is none."""
    rows = np.flatnonzero(run.logged(name) & np.isfinite(run.column(name)))
    place = np.searchsorted(edges, run.steps[rows], side="right") - 1
    inside = (place >= 0) & (place < len(edges) - 1)
    counts = np.bincount(place[inside], minlength=len(edges) - 1)
    sums = np.bincount(place[inside], run.column(name)[rows[inside]], minlength=len(edges) - 1)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(counts > 0, sums / np.maximum(counts, 1), np.nan))


def _normal(t: FloatArray, freedom: float) -> FloatArray:
    """Student's t as the normal quantile of the same tail (Wallace 1959, corollary 2)."""
    return np.asarray(np.sqrt(freedom * np.log1p(t * t / freedom)) * (8.0 * freedom + 1.0) / (8.0 * freedom + 3.0))
