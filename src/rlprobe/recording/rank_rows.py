"""What the ranks of a run say together of a step: whose time is how long, and how groups spread that lie on several."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from rlprobe.recording.rank_tail import SECONDS, RankTail
from rlprobe.recording.run import Batch, BoolArray, FloatArray

Parts = Mapping[str, object]


def enriched(batch: Batch, tails: Mapping[int, RankTail], own: Mapping[int, Parts]) -> Batch:
    """Rank 0's rows with the metrics that need every rank; what rank 0 logged itself stays."""
    if not len(batch.steps):
        return batch
    columns = dict(batch.columns)
    for name, values in {**_times(batch, tails), **_groups(batch, tails, own)}.items():
        known = np.isfinite(values)
        if not known.any():
            continue
        old, logged = columns.get(name, (np.full(len(values), np.nan), np.zeros(len(values), dtype=bool)))
        fills = known & ~logged
        columns[name] = (np.where(fills, values, old), logged | fills)
    return replace(batch, columns=columns)


def _times(batch: Batch, tails: Mapping[int, RankTail]) -> dict[str, FloatArray]:
    """Step time of the slowest and of the median rank, and which is slowest, where two ranks or more tell theirs."""
    table = np.full((1 + len(tails), len(batch.steps)), np.nan)
    for name in reversed(SECONDS):
        if name in batch.columns:
            here = batch.columns[name][0]
            table[0] = np.where(np.isfinite(here), here, table[0])
    steps = batch.steps.tolist()
    for row, tail in enumerate(tails.values(), start=1):
        table[row] = [tail.seconds.get(step, np.nan) for step in steps]
    enough: BoolArray = np.isfinite(table).sum(axis=0) >= 2
    slowest, middle, which = (np.full(len(steps), np.nan) for _ in range(3))
    if enough.any():
        told = table[:, enough]
        slowest[enough] = np.nanmax(told, axis=0)
        middle[enough] = np.nanquantile(
            told, 0.5, axis=0, method="lower"
        )  # a rank's own time, with two ranks the faster
        which[enough] = np.array([0, *tails])[np.nanargmax(told, axis=0)]
    return {"rank_step_seconds_max": slowest, "rank_step_seconds_median": middle, "rank_slowest": which}


def _groups(batch: Batch, tails: Mapping[int, RankTail], own: Mapping[int, Parts]) -> dict[str, FloatArray]:
    """Statistics of groups that lie on several ranks, of those that are whole once all ranks are put together."""
    spread, same = np.full(len(batch.steps), np.nan), np.full(len(batch.steps), np.nan)
    for row, step in enumerate(batch.steps.tolist()):
        parts = [found for found in (own.get(step), *(tail.parts.get(step) for tail in tails.values())) if found]
        whole = [group for group in merged(parts).values() if group.whole and group.n > 1]
        if whole:
            spread[row] = float(np.mean([group.deviation for group in whole]))
            same[row] = float(np.mean([group.low == group.high for group in whole]))
    return {"reward_std_group_mean": spread, "zero_variance_group_fraction": same}


class Group:
    """One group, put together from the parts of ranks.

    Attributes:
        size, here: samples that it has in all; samples of it that ranks told of.
        n, mean, squares: finite rewards, their mean, the sum of their squared deviations from it.
        low, high: the extreme rewards.
    """

    __slots__ = ("here", "high", "low", "mean", "n", "size", "squares")

    def __init__(self) -> None:
        self.size = self.here = self.n = 0
        self.mean = self.squares = 0.0
        self.low, self.high = np.inf, -np.inf

    def add(self, size: int, here: int, n: int, spread: tuple[float, float, float, float]) -> None:
        """Take in one rank's part; spread is (mean, squares, low, high)."""
        mean, squares, low, high = spread
        self.size, self.here = max(self.size, size), self.here + here
        total = self.n + n
        if total:
            gap = mean - self.mean
            self.squares += squares + gap * gap * self.n * n / total
            self.mean += gap * n / total
        self.n = total
        self.low, self.high = min(self.low, low), max(self.high, high)

    @property
    def whole(self) -> bool:
        """Whether every sample of it is told of."""
        return self.size > 0 and self.here == self.size

    @property
    def deviation(self) -> float:
        """Standard deviation of the rewards, as of a sample (n - 1)."""
        return float(np.sqrt(self.squares / (self.n - 1)))


def merged(parts: list[Parts]) -> dict[str, Group]:
    """Group id -> the group, from the `group_parts` of several ranks; what is no part is left out.

    Source: Chan, Golub and LeVeque 1979, Updating formulae and a pairwise algorithm for computing sample variances.
    """
    out: dict[str, Group] = {}
    for part in parts:
        columns = [part.get(name) for name in ("groups", "size", "here", "n", "mean", "squares", "low", "high")]
        lists = [each for each in columns if isinstance(each, list)]
        if len(lists) < len(columns) or len({*map(len, lists)}) > 1:
            continue
        for name, *row in zip(*lists, strict=True):
            if all(isinstance(value, int | float) for value in row):
                mean, squares, low, high = (float(value) for value in row[3:])
                out.setdefault(str(name), Group()).add(
                    int(row[0]), int(row[1]), int(row[2]), (mean, squares, low, high)
                )
    return out
