"""A column is exactly zero in every row: the trainer wrote a placeholder for what it did not measure."""

import numpy as np

from rlprobe.doctor.normal import Normal, Normality
from rlprobe.doctor.penalty import coefficient
from rlprobe.doctor.rows import Rows

ROWS = 15  # rows that must all be exactly zero
NEVER_ZERO = (  # what a policy that samples text and learns cannot have at exactly zero, row after row
    "entropy_mean", "kl_mean", "logprob_mean", "sampler_logprob_difference_mean", "completion_tokens_mean",
    "completion_tokens_max", "value_loss", "advantage_std", "memory_bytes", "step_seconds", "tokens_per_second",
)  # fmt: skip

NORMAL = Normal(
    id="PLACEHOLDER_COLUMNS",
    title="A column of zeros was not measured",
    worry="A metric that cannot be zero is exactly zero from the first row to the last.",
    asks="Every row holds exactly zero, and the reward varies, so that training does something.",
    explanation=(
        "Exactly zero in every row: {metrics}. No training gives that; the trainer writes the column without measuring it. "
        "Nothing is concluded from it. Switch its measurement on to have it checked."
    ),
    requires=("reward_mean", "|".join(NEVER_ZERO)),
    shows=NEVER_ZERO,
    unless=(
        "NO_WEIGHT_UPDATE",
        "ZERO_GRADIENT",
        "REWARD_CONSTANT",
        "LR_ANOMALY",
        "ADV_COLLAPSE",
        "EMPTY_COMPLETIONS",
        "REFERENCE_MOVING",
    ),
    weight=4,
)


def judge(rows: Rows) -> Normality:
    """Holds while some column that cannot be zero has been nothing else."""
    alive = rows.change("reward_mean", minimum=ROWS).noise > 0
    zero = {
        name: (rows.observations(name) >= ROWS) & ~rows.measured(name) & alive for name in NEVER_ZERO if rows.has(name)
    }
    if "kl_mean" in zero:  # with a known beta it is KL_ABSENT's or, above zero, a reference that is the policy itself
        zero["kl_mean"] &= np.isnan(coefficient(rows))
    return Normality(holds=np.logical_or.reduce([*zero.values(), np.zeros(len(rows), dtype=bool)]), about=zero)
