"""The loss prints zero: with centred advantages the policy term averages to zero whatever is learned."""

import numpy as np

from rlprobe.doctor.normal import Normal, Normality
from rlprobe.doctor.penalty import coefficient, loss_is_penalty
from rlprobe.doctor.rows import Rows
from rlprobe.doctor.silence import spread

NEAR_ZERO = 0.01  # absolute loss; the loss of sound GRPO runs of the corpus stays below it
ROWS = 5  # rows of the loss before anything is said
WINDOW = 9  # rows that "now" is
LEFT = 5.0  # times its first level: a KL that has grown this much shows that the weights move
VISIBLE = 1e-4  # nats a token; a smaller KL is rounding between two engines

NORMAL = Normal(
    id="LOSS_NEAR_ZERO",
    title="The loss is near zero and that is right",
    worry="The printed loss is zero, or next to it, for the whole run.",
    asks="Rewards differ within the step, and a gradient is logged or the policy has moved away from the reference.",
    explanation=(
        "Advantages are centred, so the policy term of the loss averages to zero whatever is learned; its gradient does "
        "not. In this run rewards differ, and that the policy moves is seen in {metrics}."
    ),
    also="What is left of the loss is the KL term: beta {beta} times a KL of {kl} nats/token.",
    requires=("loss", "reward_mean", "grad_norm|kl_mean"),
    shows=("loss", "grad_norm", "kl_mean"),
    unless=(
        "ZERO_GRADIENT", "NO_WEIGHT_UPDATE", "DEGENERATE_GROUPS", "REWARD_CONSTANT", "REWARD_STD_DEATH", "NUMERIC_NAN",
        "NO_LEARNING", "ADV_COLLAPSE", "LR_ANOMALY", "REWARD_COLLAPSE", "REFERENCE_MISMATCH",
        "ADVANTAGE_INVALID", "GROUPING_BUG",
    ),
    weight=9,
)  # fmt: skip


def judge(rows: Rows) -> Normality:
    """Holds while the loss is near zero, rewards differ, and a gradient or a moving policy is seen."""
    loss, gradient, kl = (rows.smooth(name, WINDOW) for name in ("loss", "grad_norm", "kl_mean"))
    moving = (kl > LEFT * np.abs(rows.baseline("kl_mean", 5).level)) & (kl > VISIBLE)
    rewards = spread(rows)
    differ = rows.recent("spread", rewards.values, rewards.fresh, width=WINDOW) > 0
    differ |= np.isnan(rewards.values) & (rows.change("reward_mean", minimum=ROWS).noise > 0)
    preference = ~np.isnan(rows.series("preference_accuracy_fraction").values)  # its loss starts at log 2 and may end
    near = (np.abs(loss) < NEAR_ZERO) & (rows.observations("loss") >= ROWS)
    risen = rows.change("loss").z >= 3.0  # told by LOSS_RISING_FROM_ZERO where it is the KL term
    penalty = loss_is_penalty(rows)
    return Normality(
        holds=near & differ & ((gradient > 0) | moving) & ~preference & ~(penalty & risen),
        also=penalty,
        about={"grad_norm": gradient > 0, "kl_mean": moving},
        facts={"beta": coefficient(rows), "kl": kl},
    )
