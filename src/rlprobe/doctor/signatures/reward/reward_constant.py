"""Every reward is the same since the start: the reward function or its parser is broken, or nothing can score."""

import numpy as np

from rlprobe.doctor.rows import Rows
from rlprobe.doctor.signature import Advice, Judgement, Signature, Threshold
from rlprobe.doctor.silence import ZERO, spread

SIGNATURE = Signature(
    id="REWARD_CONSTANT",
    stage="reward",
    severity="warning",
    arm="exact",
    requires=("reward_mean",),
    helps=("reward_std_batch", "reward_std_group_mean", "reward_min", "reward_max", "truncated_fraction"),
    shows=("reward_mean", "reward_std_batch", "reward_std_group_mean", "advantage_abs_mean", "truncated_fraction"),
    minimum_rows=20,
    thresholds=(
        Threshold(
            "rows",
            20,
            "rows from the start",
            "so long without one different reward is no hard task; healthy public runs show a difference by row 5",
            low=3,
        ),
        Threshold(
            "hopeless_rows",
            40,
            "rows from the start",
            "after these the finding is critical: twice the wait, and no update had anything to learn from",
            low=3,
        ),
    ),
    title="Every reward is the same",
    explanation="All rewards have been {value} for {rows} rows since the start, so no answer is better than another and "
    "no gradient comes from the reward.",
    record="Log the mean reward of every step as reward_mean, and its spread as reward_std_batch.",
    remedies=(
        Advice(text="Call the reward function on five answers written by hand, right and wrong, and read its numbers."),
        Advice(
            text="Compare the text that the reward function receives with the completion: parser, key, white space."
        ),
        Advice(
            text="Raise the length cap when completions are cut before they can answer.",
            setting="max_completion_tokens",
            scale=2.0,
        ),
        Advice(text="Begin with prompts that the starting policy solves in a tenth of its samples."),
    ),
    lasting=False,
)


def judge(rows: Rows) -> Judgement:
    """Fires while no reward has differed from the first one, in the mean of any row or within one."""
    reward, within = rows.series("reward_mean"), spread(rows)
    size = ZERO * (1.0 + np.abs(np.nan_to_num(reward.values)))
    moved = rows.highest("reward_mean") - rows.lowest("reward_mean") > size
    varied = rows.ever("varied", moved | (within.fresh & (within.values > size)))
    count = rows.observations("reward_mean")
    constant = (count >= rows.limit("rows")) & ~varied & ~(rows.series("zero_variance_group_fraction").values < 1.0)
    return Judgement(
        fires=constant,
        log_evidence=rows.exact(constant),
        critical=constant & (count >= rows.limit("hopeless_rows")),
        since=np.where(constant, 0, -1),
        facts={"value": reward.values, "rows": count},
    )
