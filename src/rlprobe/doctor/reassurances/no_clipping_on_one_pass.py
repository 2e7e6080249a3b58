"""The clip fraction is zero and the ratio is one: with a single optimizer pass over a rollout nothing can clip."""

import numpy as np

from rlprobe.doctor.normal import Normal, Normality
from rlprobe.doctor.rows import Rows

ROWS = 10  # rows that must all say it
ONE = 1e-5  # largest deviation of a mean ratio from one that is rounding

NORMAL = Normal(
    id="NO_CLIPPING_ON_ONE_PASS",
    title="Nothing is clipped because each rollout is used once",
    worry="The clip fraction is exactly zero at every step, or the ratio is exactly one.",
    asks="The settings say one pass over each rollout, or the ratio or the KL to the old policy says so in every row; "
    "the gradient norm is above zero.",
    explanation=(
        "Each rollout is trained on once, so the policy is still the one that generated it, the ratio is one and the clip "
        "has nothing to do. The gradient at that point is the full policy gradient: its norm is {grad_norm}."
    ),
    requires=("clip_fraction|ratio_mean", "grad_norm"),
    shows=("clip_fraction", "ratio_mean", "kl_old_mean", "grad_norm"),
    unless=(
        "ZERO_GRADIENT", "NO_WEIGHT_UPDATE", "RATIO_NOT_ONE", "CLIP_SATURATION", "STALE_ROLLOUT_WEIGHTS",
        "REWARD_CONSTANT", "ADV_COLLAPSE", "LR_ANOMALY", "GROUPING_BUG", "NUMERIC_NAN",
    ),
    weight=3,
)  # fmt: skip


def judge(rows: Rows) -> Normality:
    """Holds while no row ever clipped and the run is known to use a rollout once."""
    clipped, ratio = rows.highest("clip_fraction"), rows.series("ratio_mean")
    off = rows.count("ratio off one", ratio.fresh & (np.abs(ratio.values - 1.0) > ONE)) > 0
    exactly_one = ~np.isnan(ratio.values) & ~off & (rows.observations("ratio_mean") >= ROWS)
    same = ~rows.measured("kl_old_mean") & (rows.observations("kl_old_mean") >= ROWS)
    once = np.full(len(rows), rows.number("updates_per_rollout", np.inf) <= 1)
    never = (clipped == 0) & (rows.observations("clip_fraction") >= ROWS)
    gradient = rows.smooth("grad_norm", 9)
    return Normality(
        holds=~(clipped > 0) & ~off & (never | exactly_one) & (once | exactly_one | same) & (gradient > 0),
        facts={"grad_norm": gradient},
    )
