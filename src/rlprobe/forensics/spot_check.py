"""A few samples from every level of the reward, so that a person can hold the texts against their scores."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rlprobe.forensics.measures import Vocabulary
from rlprobe.forensics.query import Found, Query, select
from rlprobe.forensics.syntax import Expression, Name
from rlprobe.recording.run import IntArray
from rlprobe.recording.sample_blocks import SampleBlock

STRATA = 5  # levels of a reward that takes many values
FEW_VALUES = 8  # a reward of at most so many values has one level a value


@dataclass(frozen=True, slots=True, kw_only=True)
class Stratum:
    """One level of the reward: its range, how many samples it holds, and how many of them were drawn."""

    low: float
    high: float
    count: int
    drawn: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SpotCheck:
    """Drawn samples, the lowest reward first.

    Attributes:
        strata: the levels, lowest first; samples whose reward is missing or not finite are in none.
        found: where the samples lie, stratum by stratum.
        without: samples without a finite reward.
    """

    strata: tuple[Stratum, ...]
    found: Found
    without: int


def spot_check(
    blocks: Sequence[SampleBlock], words: Vocabulary, count: int, where: tuple[Expression, ...] = (), *, seed: int = 0
) -> SpotCheck:
    """Draw about `count` samples, as many from each level of the reward as it can give.

    Args:
        blocks, words: the samples and their columns.
        count: how many to draw.
        where: conditions.
        seed: decides the draw; the same seed and the same recording give the same samples.

    Raises:
        ExpressionError: the samples have no reward, or a condition speaks of what they do not have.
    """
    reward = Expression(text="reward", root=Name(name="reward", at=0))
    found = select(blocks, Query(where=where, sort=reward, ascending=True), words)
    finite = np.flatnonzero(np.isfinite(found.keys))
    keys = found.keys[finite]
    generator = np.random.default_rng(seed)
    members = [finite[each] for each in _strata(keys)]
    drawn = [
        np.sort(generator.permutation(len(rows))[:share])
        for rows, share in zip(members, _shares([len(rows) for rows in members], count), strict=True)
    ]
    strata = tuple(
        Stratum(low=float(found.keys[rows[0]]), high=float(found.keys[rows[-1]]), count=len(rows), drawn=len(chosen))
        for rows, chosen in zip(members, drawn, strict=True)
    )
    places = [rows[chosen] for rows, chosen in zip(members, drawn, strict=True)]
    taken = np.concatenate([np.empty(0, np.int64), *places])
    return SpotCheck(strata=strata, found=found.take(taken), without=len(found) - len(finite))


def _strata(keys: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> list[IntArray]:
    """Places of each level among ascending rewards; each has as many distinct ones, so a frequent one hides none."""
    values, starts = np.unique(keys, return_index=True)
    levels = len(values) if len(values) <= FEW_VALUES else STRATA
    edges = starts[(len(values) * np.arange(levels)) // levels] if len(values) else starts
    return [each for each in np.split(np.arange(len(keys)), edges[1:]) if len(each)]


def _shares(sizes: list[int], count: int) -> list[int]:
    """How many each level gives: the same from all, and what a small one lacks from the others."""
    shares = [0] * len(sizes)
    left = min(count, sum(sizes))
    while left:
        for index in range(len(sizes)):
            if left and shares[index] < sizes[index]:
                shares[index] += 1
                left -= 1
    return shares
