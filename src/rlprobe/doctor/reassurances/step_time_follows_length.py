"""Steps take longer, but each token does not: the completions got longer."""

import numpy as np

from rlprobe.doctor.normal import Normal, Normality
from rlprobe.doctor.rows import Rows
from rlprobe.doctor.silence import kept_gain

SLOWER = 1.25  # times the starting step time from which people worry
MOVED = 3.0  # standard errors
LONGER = 2.5  # times the starting length; beyond it the growth itself needs a look
PER_TOKEN = 1.1  # times the starting seconds a token that is still the same speed

NORMAL = Normal(
    id="STEP_TIME_FOLLOWS_LENGTH",
    title="Steps are slower because completions are longer",
    worry="A step takes more and more seconds.",
    asks="Seconds a token have not grown, completions are longer, and the reward has risen and kept its gain.",
    explanation=(
        "A step takes {slower} % longer than at the start and completions are {longer} % longer, with {low} before and "
        "{high} now as mean reward. The machine is as fast as it was."
    ),
    requires=("step_seconds", "completion_tokens_mean", "reward_mean"),
    shows=("step_seconds", "completion_tokens_mean"),
    unless=(
        "THROUGHPUT_ROT", "LENGTH_EXPLOSION", "REPETITION_SPIRAL", "NO_EOS", "REWARD_HACK_LENGTH",
        "TRUNCATION_STARVE", "REWARD_COLLAPSE", "LENGTH_BIAS", "ENTROPY_EXPLOSION", "TOOL_USE_COLLAPSE",
        "REWARD_SCALE_SHIFT", "REWARD_TEXT_MISMATCH",
    ),
    weight=3,
)  # fmt: skip


def judge(rows: Rows) -> Normality:
    """Holds while steps are slower, tokens are not, and the longer completions earn more."""
    seconds, length, reward = (rows.change(name) for name in ("step_seconds", "completion_tokens_mean", "reward_mean"))
    slower, longer = seconds.late / seconds.early, length.late / np.maximum(length.early, 1.0)
    holds = (slower >= SLOWER) & (seconds.z >= MOVED) & (length.z >= MOVED) & (slower <= PER_TOKEN * longer)
    return Normality(
        holds=holds & (longer <= LONGER) & (reward.z >= MOVED) & kept_gain(rows),
        facts={"slower": 100 * (slower - 1), "longer": 100 * (longer - 1), "low": reward.early, "high": reward.late},
    )
