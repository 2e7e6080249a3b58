"""Reward spread has died without mastery: the answers have become one answer, and it is not the best one."""

import numpy as np

from rlprobe.doctor.rows import Rows
from rlprobe.doctor.signature import Advice, Judgement, Signature, Threshold
from rlprobe.doctor.silence import mastered, silent_groups, spread

START = 15  # rows that the starting spread is measured on
WILD = 2.0  # times its median that the mean of the first spreads may count; one wild row makes it more
SPREAD = "reward_std_batch|reward_std_group_mean|reward_max"

SIGNATURE = Signature(
    id="REWARD_STD_DEATH",
    stage="reward",
    severity="warning",
    arm="level",
    requires=("reward_mean", SPREAD),
    helps=("zero_variance_group_fraction", "truncated_fraction", "entropy_mean"),
    shows=("reward_std_batch", "reward_std_group_mean", "reward_mean", "zero_variance_group_fraction", "entropy_mean"),
    minimum_rows=30,
    thresholds=(
        Threshold(
            "remaining",
            0.15,
            "fraction of the starting spread",
            "below it nothing tells answers apart; healthy public runs that have not mastered their task keep 0.25",
        ),
        Threshold(
            "silent",
            0.85,
            "fraction of rows or groups without any spread",
            "the same for logs of small groups, where spread is zero or large: unsloth-19 and its like reach 0.9",
        ),
        Threshold(
            "silent_start",
            0.6,
            "fraction of rows or groups without any spread",
            "above it the spread was never there to die",
        ),
    ),
    title="Reward spread died without mastery",
    explanation="Rewards spread by {after} where they spread by {before} before step {onset}, while the reward has not "
    "settled at its best: the policy gives one kind of answer and learns nothing from it.",
    record="Log the standard deviation of the rewards of a step as reward_std_batch.",
    remedies=(
        Advice(text="Read samples of before and after: look for one phrase or one refusal in every answer."),
        Advice(text="Sample at a higher temperature.", setting="temperature", suggested="1.0", only_below=1.0),
        Advice(
            text="Go back to a checkpoint from before the onset with a lower learning rate.",
            setting="learning_rate",
            scale=0.3,
        ),
        Advice(text="Sample larger groups, so that a rare better answer is met.", setting="group_size", scale=2.0),
    ),
)


def judge(rows: Rows) -> Judgement:
    """Fires when spread is a small part of its start, or absent nearly always, and mastery does not explain it."""
    within, silent = spread(rows), silent_groups(rows)
    early = rows.recent("start", within.values, within.fresh & _first(rows, "spread", within.fresh), width=START)
    typical = rows.recent_median(
        "typical", within.values, within.fresh & _first(rows, "typical", within.fresh), width=START
    )
    early = np.where(typical > 0, np.minimum(early, WILD * typical), early)
    late = rows.recent("late", within.values, within.fresh, width=START)
    quiet = rows.recent("quiet", silent.values, silent.fresh, width=20)
    before = rows.recent("loud", silent.values, silent.fresh & _first(rows, "silence", silent.fresh), width=START)
    count = rows.count("rows", within.fresh)
    dead = (late < rows.limit("remaining") * early) | (
        (quiet >= rows.limit("silent")) & (before <= rows.limit("silent_start"))
    )
    dead &= count >= 2 * START
    evidence = rows.level("dead", dead, within.fresh)
    known = mastered(rows)
    fires = dead & ~known & (evidence >= rows.alarm)
    return Judgement(fires=fires, holds=dead & ~known, log_evidence=evidence)


def _first(rows: Rows, key: str, fresh: np.ndarray) -> np.ndarray:
    """(n,) whether a row is among the first START that have a value."""
    return rows.count(f"first {key}", fresh) <= START
