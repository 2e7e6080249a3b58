"""Rewards are negative but rise: where zero lies is the reward function's choice, and advantages do not see it."""

from rlprobe.doctor.normal import Normal, Normality
from rlprobe.doctor.rows import Rows
from rlprobe.doctor.silence import kept_gain

RISEN = 3.0  # standard errors of late reward above early reward

NORMAL = Normal(
    id="NEGATIVE_REWARDS",
    title="Rewards below zero that rise are fine",
    worry="The mean reward is below zero all along.",
    asks="The reward has risen beyond its noise and has kept its gain.",
    explanation=(
        "The mean reward rose from {low} to {high}. Where zero lies is the reward function's choice; advantages are "
        "differences of rewards, so only the trend says something."
    ),
    requires=("reward_mean",),
    shows=("reward_mean",),
    unless=(
        "REWARD_COLLAPSE", "NO_LEARNING", "REWARD_NOT_FINITE", "VALUE_DIVERGENCE", "REWARD_OVEROPTIMIZATION",
        "REWARD_HACK_LENGTH", "FORMAT_GAMING", "REWARD_SCALE_SHIFT", "NUMERIC_NAN",
        "DEGENERATE_GROUPS", "REWARD_STD_DEATH", "ADV_COLLAPSE", "TRUNCATION_STARVE", "NO_EOS", "REWARD_CONSTANT",
        "LENGTH_COLLAPSE", "KL_BLOWUP", "EVAL_GAP",
    ),
    weight=5,
)  # fmt: skip


def judge(rows: Rows) -> Normality:
    """Holds while the reward is below zero and has risen beyond its noise."""
    reward = rows.change("reward_mean")
    return Normality(
        holds=(reward.late < 0) & (reward.z >= RISEN) & kept_gain(rows),
        facts={"low": reward.early, "high": reward.late},
    )
