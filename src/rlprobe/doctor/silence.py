"""How much of a step's reward carries no gradient, whether mastery is why, and what kind of advantage a run has.

Several signatures ask these; each log answers with what it has, row by row.
"""

import numpy as np

from rlprobe.doctor.rows import Rows, Series
from rlprobe.recording.run import BoolArray, FloatArray

ZERO = 1e-6  # of a reward's size; smaller spreads are rounding
RISEN = 3.0  # standard errors of late reward above early reward: more than noise gives
KEPT = 0.5  # of the best gain; less means that the reward has fallen since
KNOWN = 0.5  # fraction of right answers; with fewer there is more to learn, whatever the reward says
MOSTLY = 0.8  # fraction of right answers from which little is left to learn, where it has risen to that
FULL = 0.9  # of the most that a reward from 0 to 1 can be: most answers were right from the start
REACHED = 0.99  # the most that a row of such a reward has been: 1 is what it can be
UNFINISHED = 0.9  # fraction of completions cut at the cap: a reward parked there is no mastery

UNGROUPED = ("reinforce", "reinforce++", "ppo", "remax", "opo", "kto")  # algorithms without a group baseline
SCALED = (True, "group", "True", "true")  # values of advantage_scaling that divide by the group's own deviation


def grouped(rows: Rows) -> bool:
    """Whether the advantage is relative to a group; unknown algorithms are taken to be."""
    return rows.manifest.algorithm not in UNGROUPED


def standardised(rows: Rows) -> bool:
    """Whether the settings say that advantages are standard scores within their group."""
    return rows.manifest.algorithm == "grpo" and rows.setting("advantage_scaling") in SCALED


def silent_groups(rows: Rows) -> Series:
    """Fraction of the groups without reward spread in each row: as logged, else 1 or 0 as the logged spread is zero.

    A row's spread is the groups' mean, else the step's standard deviation, else its range of rewards. Where no group
    enters the advantage, the whole step is the group.
    """
    logged = rows.series("zero_variance_group_fraction")
    fresh = logged.fresh if grouped(rows) else np.zeros(len(rows), dtype=bool)
    values = np.where(fresh, logged.values, np.nan)
    size = 1.0 + np.abs(np.nan_to_num(rows.series("reward_mean").values))
    groups = (_group_spread(rows),) if grouped(rows) else ()
    for spread, known in (*groups, _spread(rows), _range(rows)):
        new = known & ~fresh
        values = np.where(new, spread <= ZERO * size, values)
        fresh = fresh | new
    return Series(values=np.where(fresh, values, np.nan), fresh=fresh)


def spread(rows: Rows) -> Series:
    """Spread of rewards in each row: over the step, else the groups' mean, else the range."""
    values, fresh = _spread(rows)
    for other, known in (_group_spread(rows), _range(rows)):
        new = known & ~fresh
        values, fresh = np.where(new, other, values), fresh | new
    return Series(values=np.where(fresh, values, np.nan), fresh=fresh)


def mastered(rows: Rows) -> BoolArray:
    """(n,) whether silence has an innocent reason: reward has risen, has kept its gain, and no answer was ever better,
    or it has stood at its most from the start.

    A reward that is parked where completions are cut at the cap, or below what some completion once scored, is none;
    nor is one that the fraction of right answers or the true score, where they are logged, does not bear out.
    """
    top = rows.smooth("reward_max")
    better = top < rows.highest("reward_max") - ZERO * (1.0 + np.abs(top))
    cut = rows.smooth("truncated_fraction") >= UNFINISHED
    borne_out = ~(rows.change("accuracy_fraction").late < KNOWN) & ~(rows.change("true_reward_mean").z < RISEN)
    risen = (rows.change("reward_mean").z >= RISEN) & kept_gain(rows)
    return ((risen | full(rows)) & ~better & borne_out | answered(rows)) & ~cut


def answered(rows: Rows) -> BoolArray:
    """(n,) whether the fraction of right answers has risen and most are right, whatever the reward's scale is."""
    right = rows.change("accuracy_fraction")
    return (right.z >= RISEN) & (rows.mean("accuracy_fraction", 20) >= MOSTLY)


def full(rows: Rows) -> BoolArray:
    """(n,) whether every reward function (the reward, where none is logged) varies between 0 and 1, has reached 1 and
    stands near it: there is little left to learn.
    """
    every, known = rows.every, ~rows.every
    for member in rows.members("reward_component_mean"):
        name = f"reward_component_mean/{member}"
        seen = rows.observations(name) >= 1
        every, known = every & (_at_one(rows, name) | ~seen), known | seen
    return np.where(known, every, _at_one(rows, "reward_mean"))


def _at_one(rows: Rows, name: str) -> BoolArray:
    low, high = rows.lowest(name), rows.highest(name)
    unit = (low >= 0.0) & (low < high) & (high <= 1.0) & (high >= REACHED)
    near: BoolArray = unit & (rows.mean(name, 20) >= FULL)
    return near


def kept_gain(rows: Rows) -> BoolArray:
    """(n,) whether the reward still has at least half of the best gain over its start. Carries state under one key."""
    smooth = rows.smooth("reward_mean")
    start = rows.baseline("reward_mean", count=5).level
    best = rows.carried_max("best reward", smooth)
    return smooth >= start + KEPT * (best - start)


def _spread(rows: Rows) -> tuple[FloatArray, BoolArray]:
    series = rows.series("reward_std_batch")
    return series.values, series.fresh


def _group_spread(rows: Rows) -> tuple[FloatArray, BoolArray]:
    series = rows.series("reward_std_group_mean")
    return series.values, series.fresh


def _range(rows: Rows) -> tuple[FloatArray, BoolArray]:
    low, high = rows.series("reward_min"), rows.series("reward_max")
    return high.values - low.values, low.fresh & high.fresh
