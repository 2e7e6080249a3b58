"""Completions become shorter while the reward rises: the policy drops what the answer does not need."""

from rlprobe.doctor.normal import Normal, Normality
from rlprobe.doctor.rows import Rows
from rlprobe.doctor.silence import kept_gain

SHORTER = 0.8  # of the starting length; a smaller change worries nobody
MOVED = 3.0  # standard errors
LEAST = 10.0  # tokens that an answer still has; below it, short is empty

NORMAL = Normal(
    id="SHORTER_AND_BETTER",
    title="Completions get shorter and better",
    worry="The mean completion length falls step after step.",
    asks="The reward has risen beyond its noise and has kept its gain, and completions are still more than a few tokens.",
    explanation=(
        "Completions went from {before} to {now} tokens while the mean reward rose from {low} to {high}. A collapse of "
        "length loses reward; this policy is leaving out what the answers do not need."
    ),
    requires=("completion_tokens_mean", "reward_mean"),
    shows=("completion_tokens_mean", "reward_mean"),
    unless=(
        "LENGTH_COLLAPSE", "REWARD_COLLAPSE", "EMPTY_COMPLETIONS", "TOOL_USE_COLLAPSE", "FORMAT_GAMING",
        "REWARD_OVEROPTIMIZATION", "EVAL_GAP", "REWARD_HACK_LENGTH", "NUMERIC_NAN", "DUPLICATE_COMPLETIONS",
        "REWARD_STD_DEATH", "ADV_COLLAPSE", "REWARD_CONSTANT", "KL_BLOWUP", "NO_LEARNING", "REWARD_SCALE_SHIFT",
        "REWARD_TEXT_MISMATCH",
    ),
    weight=7,
)  # fmt: skip


def judge(rows: Rows) -> Normality:
    """Holds while length has fallen and reward has risen, both beyond their noise."""
    length, reward = rows.change("completion_tokens_mean"), rows.change("reward_mean")
    shorter = (length.late <= SHORTER * length.early) & (length.z <= -MOVED)
    return Normality(
        holds=shorter & (rows.smooth("completion_tokens_mean") >= LEAST) & (reward.z >= MOVED) & kept_gain(rows),
        facts={"before": length.early, "now": length.late, "low": reward.early, "high": reward.late},
    )
