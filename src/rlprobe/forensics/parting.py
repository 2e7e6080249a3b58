"""Where two courses of one metric part: a lasting jump of their gap, held against how much the gap moved before.

Null: both runs are healthy, so their gap is noise of any autocorrelation around a slowly wandering level (two seeds are
never the same run). What counts is a change between two neighbouring windows that no earlier pair of windows comes
near, that is large beside the spread of the metric itself, and that lasts longer than the gap's own memory.
"""

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from rlprobe.doctor.evidence.onset import onset
from rlprobe.forensics.alignment import FEWEST, Beside
from rlprobe.recording.run import FloatArray

WINDOWS = (5, 10, 20, 40)  # rows on either side of a change
HISTORY = 10  # earlier contrasts that a change is held against, at least
GATE = 0.5  # standard deviations of the metric over both runs so far; a smaller change is none
LASTING = 0.5  # fraction of the change that the gap still has at the end of its own memory
BEYOND = 0.6  # fraction of the rows after the change that lie beyond the 10 % and 90 % quantiles of the gap before
ALARM = 0.005  # expected false alarms of one comparison by the tail formula
LEAST = 5.5  # standard deviations; bench/forensics/diff.py counts how many healthy pairs reach it
SKEWED = 3.0  # largest over median, from which a positive metric is compared by its logarithm
TRIED = 12  # candidates of one window length that are looked at closely
MEMORY = 3.0  # autocorrelation times that a change has to last
OVERLAP = 0.75  # window lengths that one independent contrast takes, neighbours overlapping
PRIOR = 6.0  # contrasts that the runs' own noise counts for beside those of the gap's history
_TINY = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class Parting:
    """Where one metric parts.

    Attributes:
        step: most likely first step of the change.
        interval: 95 % set of that step.
        z: how far the change lies outside what the gap did before, as standard deviations of a normal variable.
        ours, theirs: means of the runs over the window before the change and after it, as (before, after).
        lasting: whether the gap at the end of the run still lies beyond half of the change.
    """

    step: int
    interval: tuple[int, int]
    z: float
    ours: tuple[float, float]
    theirs: tuple[float, float]
    lasting: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Noise:
    """What chance makes of the gap: (variance, autocorrelation) of each run's own noise, and a quantum's variance."""

    runs: tuple[tuple[float, float], tuple[float, float]]
    quantum: float

    @property
    def memory(self) -> float:
        """Rows after which chance has forgotten itself."""
        phi = max(each[1] for each in self.runs)
        return (1.0 + phi) / (1.0 - phi)

    def contrast(self, width: int) -> float:
        """Variance of the difference of two neighbouring windows' means, exact for AR(1) noise."""
        return 2.0 * self.quantum / width + sum(_contrast_variance(v, phi, width) for v, phi in self.runs)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Contrasts:
    """Every place of one window length: row, change of the mean gap, its z, mean gap before."""

    rows: "np.ndarray[tuple[int], np.dtype[np.int64]]"
    change: FloatArray
    z: FloatArray
    before: FloatArray


def threshold(metrics: int, rows: int) -> float:
    """The z from which a change counts when so many metrics of so many rows are looked at."""
    looks = max(1, 2 * metrics * max(1, rows // 2))
    return max(LEAST, NormalDist().inv_cdf(1.0 - ALARM / looks))


def parting(pair: Beside, *, least: float) -> Parting | None:
    """Where the two courses part; None where they do not, or where too few rows could show it.

    Args:
        pair: at most WIDEST rows (Beside.condensed).
        least: from threshold().

    Source: contrasts of neighbouring windows held against their own history; onset by Hansen 2000 (evidence/onset.py).
    """
    if len(pair) < FEWEST:
        return None
    ours, theirs = _levelled(pair.ours, pair.theirs)
    gap = ours - theirs
    if float(np.ptp(gap)) == 0.0:
        return None
    noise = _noise(pair, ours, theirs)
    best: tuple[float, int, int] | None = None
    for width in WINDOWS:
        found = _strongest(gap, ours + theirs, width, noise, least)
        if found is not None and (best is None or found[0] > best[0]):
            best = (*found, width)
    return None if best is None else _told(pair, gap, *best)


def strength(pair: Beside) -> float:
    """The largest z of a lasting change, whether it counts or not; 0 where there is none."""
    found = parting(pair, least=0.0)
    return 0.0 if found is None else found.z


def _levelled(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The scale on which noise is even: logarithms for a positive metric with a long tail."""
    both = np.concatenate([a, b])
    if float(both.min()) > 0:
        middle = float(np.median(both))
        if float(both.max()) > SKEWED * middle or middle > 10.0 * float(both.min()):
            return np.log(a), np.log(b)
    return a, b


def _noise(pair: Beside, ours: FloatArray, theirs: FloatArray) -> _Noise:
    """What chance alone makes of the gap: the noise of both runs, and a quantum of a metric that takes few values."""
    return _Noise(runs=(_own_noise(ours), _own_noise(theirs)), quantum=_coarseness(pair, ours))


def _coarseness(pair: Beside, levelled: FloatArray) -> float:
    """Variance that one quantum of a metric that takes few values is worth: a single event is no change of course."""
    if levelled is not pair.ours:
        return 0.0
    values = np.unique(np.concatenate([pair.ours, pair.theirs]))
    return float(np.min(np.diff(values))) ** 2 if len(values) > 1 else 0.0


def _own_noise(x: FloatArray) -> tuple[float, float]:
    """Variance and autocorrelation of a run's own noise around its course; the gap of two runs is no quieter.

    So two runs of one seed, whose gap begins at nothing, are not said to part when the gap grows to what chance makes.
    """
    rest = _rest(x, max(8, len(x) // 12))
    size, step = (1.4826 * float(np.median(np.abs(each))) for each in (rest, np.diff(x)))  # medians: a jump is no noise
    if size <= 0.0:
        return 0.0, 0.0
    phi = min(0.9, max(0.0, 1.0 - step**2 / (2.0 * size**2)))
    return size**2, phi


def _contrast_variance(variance: float, phi: float, width: int) -> float:
    """Variance of the difference of two neighbouring means of `width` AR(1) values."""
    faded = 1.0 - phi**width
    of_mean = ((1.0 + phi) / (1.0 - phi) - 2.0 * phi * faded / (width * (1.0 - phi) ** 2)) / width
    between = phi * faded**2 / (width * (1.0 - phi)) ** 2
    return 2.0 * variance * (of_mean - between)


def _around(x: FloatArray, reach: int) -> tuple[float, float]:
    """Variance of x around its moving mean over `reach` rows on either side, and its autocorrelation."""
    rest = _rest(x, reach)
    power = float(rest @ rest)
    if power <= 0.0:
        return 0.0, 0.0
    phi = float(rest[1:] @ rest[:-1]) / power + 1.5 / reach
    return power / len(x), min(0.95, max(0.0, phi))


def _rest(x: FloatArray, reach: int) -> FloatArray:
    """x less its moving mean over `reach` rows on either side."""
    sums = np.concatenate([[0.0], np.cumsum(x)])
    place = np.arange(len(x))
    low, high = np.maximum(0, place - reach), np.minimum(len(x), place + reach)
    return np.asarray(x - (sums[high] - sums[low]) / (high - low))


def _contrasts(gap: FloatArray, total: FloatArray, width: int, noise: _Noise) -> _Contrasts | None:
    n = len(gap)
    if n < 5 * width + 4:
        return None
    rows = np.arange(width, n - 2 * width + 1)
    sums = np.concatenate([[0.0], np.cumsum(gap)])
    change = (sums[rows + width] - 2.0 * sums[rows] + sums[rows - width]) / width
    energy = np.concatenate([[0.0], np.cumsum(change * change)])
    history = np.maximum(0, np.arange(len(rows)) - width + 1)  # contrasts that end before this one's change begins
    half = history // 2
    with np.errstate(divide="ignore", invalid="ignore"):
        usual = np.fmax(energy[history] / history, (energy[history] - energy[half]) / (history - half))
    level = np.concatenate([[0.0], np.cumsum(total)])[rows] / (2 * rows)
    square = np.concatenate([[0.0], np.cumsum(total * total / 2.0)])[rows] / (2 * rows)
    spread = np.sqrt(np.maximum(0.0, square - level**2))
    freedom = history / (OVERLAP * width + noise.memory)
    chance = noise.contrast(width)
    pooled = (freedom * np.nan_to_num(usual) + PRIOR * chance) / (freedom + PRIOR)
    scale = np.sqrt(np.fmax(pooled, chance) + _TINY * level**2)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(change == 0.0, 0.0, np.abs(change) / scale)
    z = _normal(t, freedom + PRIOR)
    start = np.maximum(0, rows - 2 * width)
    before = (sums[rows] - sums[start]) / (rows - start)
    after = (sums[rows + 2 * width] - sums[rows + width]) / width
    counts = (history >= max(HISTORY, 2 * width)) & (np.abs(change) >= GATE * spread)
    counts &= np.sign(change) * (after - before) >= LASTING * np.abs(change)
    return _Contrasts(rows=rows, change=change, z=np.where(counts, z, 0.0), before=before)


def _normal(t: FloatArray, freedom: FloatArray) -> FloatArray:
    """Student's t as the normal quantile of the same tail (Wallace 1959, corollary 2)."""
    return np.asarray(np.sqrt(freedom * np.log1p(t * t / freedom)) * (8.0 * freedom + 1.0) / (8.0 * freedom + 3.0))


def _strongest(gap: FloatArray, total: FloatArray, width: int, noise: _Noise, least: float) -> tuple[float, int] | None:
    """(z, row) of the strongest change of one window length that lasts."""
    found = _contrasts(gap, total, width, noise)
    if found is None:
        return None
    for index in np.argsort(-found.z, kind="stable")[:TRIED]:
        z = float(found.z[index])
        if z <= 0.0 or z < least:
            return None
        row = int(found.rows[index])
        if _lasts(gap, row, width, float(found.change[index]), float(found.before[index])):
            return z, row
    return None


def _lasts(gap: FloatArray, row: int, width: int, change: float, before: float) -> bool:
    """Whether the gap stays away for longer than its own memory: a shock that decays is no parting."""
    history = gap[:row]
    _, phi = _around(history, max(8, row // 4))
    memory = min(MEMORY * (1.0 + phi) / (1.0 - phi), max(2 * width, len(gap) // 6))
    span = math.ceil(max(2 * width, memory))
    if row + span > len(gap):
        return False
    after = gap[row : row + span]
    away = float(after[span // 2 :].mean()) - before
    low, high = np.quantile(history, [0.1, 0.9])
    beyond = after > high if change > 0 else after < low
    return math.copysign(1.0, change) * away >= LASTING * abs(change) and float(np.mean(beyond)) >= BEYOND


def _told(pair: Beside, gap: FloatArray, z: float, row: int, width: int) -> Parting:
    first, last = max(0, row - 4 * width), min(len(gap), row + 4 * width)
    when = onset(gap[first:last])
    at, low, high = (first + place for place in (when.index, when.low, when.high))
    inside = row - 2 * width <= at <= row + 2 * width  # the strongest contrast decides; the onset only refines it
    at, low, high = (at, low, high) if inside else (row, row - width, row + width)
    start, end = max(0, at - 4 * width), min(len(gap), at + 4 * width)
    change = float(gap[at:end].mean() - gap[start:at].mean())
    close = float(gap[-max(width, len(gap) // 10) :].mean() - gap[start:at].mean())
    return Parting(
        step=int(pair.steps[at]),
        interval=(int(pair.steps[min(low, at)]), int((pair.steps if pair.last is None else pair.last)[max(high, at)])),
        z=z,
        ours=(float(pair.ours[start:at].mean()), float(pair.ours[at:end].mean())),
        theirs=(float(pair.theirs[start:at].mean()), float(pair.theirs[at:end].mean())),
        lasting=change * close >= 0.5 * change * change,
    )
