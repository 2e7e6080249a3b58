"""More and more groups have no reward spread: their prompts are solved by every sample."""

from rlprobe.doctor.normal import Normal, Normality
from rlprobe.doctor.rows import Rows
from rlprobe.doctor.silence import mastered, silent_groups

WINDOW = 15  # rows that "now" is
MANY = 0.25  # fraction of silent groups from which people worry
MAJORITY = 0.5  # of the silent groups must be all right where the log says which they are
LEAST = 0.1  # rise of the silent fraction since the start: it is the training that silenced them

NORMAL = Normal(
    id="MASTERED_GROUPS",
    title="Groups fall silent because prompts are solved",
    worry="The fraction of groups without reward spread rises, so fewer and fewer samples carry a gradient.",
    asks="The reward has risen with it and has kept its gain; where the log tells them apart, the silent groups are the "
    "ones whose samples are all right.",
    explanation=(
        "{share} % of the groups have one reward for all their samples, and the mean reward rose from {low} to {high}: "
        "these prompts are solved. They cost time, not quality. Harder prompts would use that time."
    ),
    requires=("zero_variance_group_fraction|reward_std_group_mean", "reward_mean"),
    shows=("zero_variance_group_fraction", "reward_std_group_mean", "reward_mean"),
    unless=(
        "DEGENERATE_GROUPS", "REWARD_STD_DEATH", "REWARD_CONSTANT", "REWARD_COLLAPSE", "TRUNCATION_STARVE", "NO_EOS",
        "GROUPING_BUG", "NO_LEARNING", "NUMERIC_NAN", "FORMAT_GAMING", "REWARD_OVEROPTIMIZATION",
        "REWARD_HACK_LENGTH", "KL_BLOWUP", "ADV_COLLAPSE", "ENTROPY_COLLAPSE", "REWARD_SCALE_SHIFT",
        "REWARD_TEXT_MISMATCH",
    ),
    weight=8,
)  # fmt: skip


def judge(rows: Rows) -> Normality:
    """Holds while silent groups have become many and the reward says that their prompts are solved."""
    silent, reward = silent_groups(rows), rows.change("reward_mean")
    share = rows.recent("now", silent.values, silent.fresh, width=WINDOW)
    early = rows.recent("early", silent.values, silent.fresh & (rows.index < WINDOW), width=WINDOW)
    right = rows.mean("all_right_group_fraction", WINDOW)
    wrong = ~(right != right) & (right < MAJORITY * share)  # logged, and most of the silent are not right
    return Normality(
        holds=(share >= MANY) & (share - early >= LEAST) & mastered(rows) & ~wrong,
        facts={"share": 100 * share, "low": reward.early, "high": reward.late},
    )
