"""Most completions are cut at first and fewer and fewer later: the policy is learning to finish within the cap."""

from rlprobe.doctor.normal import Normal, Normality
from rlprobe.doctor.rows import Rows
from rlprobe.doctor.silence import kept_gain

FIRST = 10  # rows that the start is the mean of
AT_FIRST = 0.5  # fraction cut at the start from which people worry
HALVED = 0.6  # of that fraction; it has come down when it is below
MOVED = 3.0  # standard errors
EMPTY = 10.0  # tokens; completions this short end for a bad reason

NORMAL = Normal(
    id="TRUNCATION_FALLS",
    title="Truncation is high at first and comes down",
    worry="Most completions are cut at the length cap in the first steps.",
    asks="The cut fraction has fallen beyond its noise to well under its start, and the reward has risen and kept its gain.",
    explanation=(
        "{before} % of the completions were cut at first and {now} % are now, while the mean reward rose from {low} to "
        "{high}. The policy learned to finish within the cap; raising it now would only cost time."
    ),
    requires=("truncated_fraction", "reward_mean"),
    shows=("truncated_fraction", "completion_tokens_mean", "reward_mean"),
    unless=(
        "TRUNCATION_STARVE", "NO_EOS", "LENGTH_COLLAPSE", "REWARD_COLLAPSE", "EMPTY_COMPLETIONS", "NUMERIC_NAN",
        "REWARD_SCALE_SHIFT", "REWARD_TEXT_MISMATCH",
    ),
    weight=6,
)  # fmt: skip


def judge(rows: Rows) -> Normality:
    """Holds while the cut fraction is far below its start and the reward has risen with it."""
    cut, reward = rows.change("truncated_fraction"), rows.change("reward_mean")
    start, now = rows.baseline("truncated_fraction", FIRST).level, rows.mean("truncated_fraction", FIRST)
    fallen = (start >= AT_FIRST) & (now <= HALVED * start) & (cut.z <= -MOVED)
    empty = rows.smooth("completion_tokens_mean") < EMPTY
    return Normality(
        holds=fallen & (reward.z >= MOVED) & kept_gain(rows) & ~empty,
        facts={"before": 100 * start, "now": 100 * now, "low": reward.early, "high": reward.late},
    )
