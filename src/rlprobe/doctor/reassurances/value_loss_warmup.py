"""The value loss is large in the first rows and falls: the value head starts from nothing."""

from rlprobe.doctor.normal import Normal, Normality
from rlprobe.doctor.rows import Rows

FALLEN = 0.33  # of the starting loss
MOVED = 3.0  # standard errors
GROWN = 3.0  # times its best level so far: then the loss is growing again

NORMAL = Normal(
    id="VALUE_LOSS_WARMUP",
    title="The value loss starts high and falls",
    worry="The value loss is many times larger than the policy loss in the first steps.",
    asks="The value loss has fallen to a third of its start or less, is still near its best, and the reward has not fallen.",
    explanation=(
        "The value loss went from {before} to {now}. A value head starts from random weights and has to find the scale of "
        "the returns first; the policy's first advantages are noisy for as long as that takes."
    ),
    requires=("value_loss", "reward_mean"),
    shows=("value_loss", "value_explained_variance"),
    unless=(
        "VALUE_DIVERGENCE",
        "NUMERIC_NAN",
        "REWARD_COLLAPSE",
        "REWARD_SCALE_SHIFT",
        "NO_LEARNING",
        "CLIP_SATURATION",
    ),
    weight=5,
)


def judge(rows: Rows) -> Normality:
    """Holds while the value loss is far below its start and close to its best."""
    value, now = rows.change("value_loss"), rows.smooth("value_loss", 9)
    start = rows.baseline("value_loss", 5).level
    best = rows.carried_min("best", now)
    fallen = (start > 0) & (now <= FALLEN * start) & (value.z <= -MOVED) & (now <= GROWN * best)
    return Normality(holds=fallen & (rows.change("reward_mean").z > -MOVED), facts={"before": start, "now": now})
