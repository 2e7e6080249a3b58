"""The reward's spread shrinks: rewards come close to the best there is, and there is less left to differ by."""

import numpy as np

from rlprobe.doctor.normal import Normal, Normality
from rlprobe.doctor.rows import Rows
from rlprobe.doctor.silence import mastered, spread

SHRUNK = 0.6  # of the starting spread
WINDOW = 9  # rows that "now" is
MANY = 0.25  # fraction of silent groups that MASTERED_GROUPS tells of instead

NORMAL = Normal(
    id="REWARD_STD_SHRINKS_AT_CEILING",
    title="Reward spread shrinks near the best reward",
    worry="The standard deviation of rewards falls steadily.",
    asks="The reward has risen beyond its noise, has kept its gain, and no sample was ever better than the best are now.",
    explanation=(
        "The spread of rewards went from {before} to {now} while their mean rose from {low} to {high}. Close to the best "
        "reward there is less left to differ by; a dying signal loses spread without gaining reward."
    ),
    requires=("reward_std_group_mean|reward_std_batch", "reward_mean"),
    shows=("reward_std_group_mean", "reward_std_batch", "reward_mean"),
    unless=(
        "REWARD_STD_DEATH", "REWARD_CONSTANT", "DEGENERATE_GROUPS", "REWARD_COLLAPSE", "ENTROPY_COLLAPSE",
        "NO_LEARNING", "FORMAT_GAMING", "REWARD_OVEROPTIMIZATION", "REWARD_HACK_LENGTH", "NUMERIC_NAN",
        "TRUNCATION_STARVE", "KL_BLOWUP", "ADV_COLLAPSE", "NO_EOS", "REWARD_SCALE_SHIFT", "REWARD_TEXT_MISMATCH",
    ),
    weight=6,
)  # fmt: skip


def judge(rows: Rows) -> Normality:
    """Holds while the spread has shrunk with the reward at its best and groups are not the ones to tell of."""
    rewards, reward = spread(rows), rows.change("reward_mean")
    now = rows.recent_median("now", rewards.values, rewards.fresh, width=WINDOW)
    start = rows.recent_median("start", rewards.values, rewards.fresh & (rows.index < WINDOW), width=WINDOW)
    silent = rows.mean("zero_variance_group_fraction", WINDOW) >= MANY
    return Normality(
        holds=(now <= SHRUNK * start) & (now > 0) & mastered(rows) & ~silent & ~np.isnan(start),
        facts={"before": start, "now": now, "low": reward.early, "high": reward.late},
    )
