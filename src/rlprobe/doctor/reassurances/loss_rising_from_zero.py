"""The loss rises from zero while rewards improve: it is beta times KL, and KL begins at zero."""

import numpy as np

from rlprobe.doctor.normal import Normal, Normality
from rlprobe.doctor.penalty import coefficient, loss_is_penalty
from rlprobe.doctor.rows import Rows

START = 0.1  # of the present loss; below it the loss began at zero
RISEN = 3.0  # standard errors of the late loss above the early one
FALLEN = -3.0  # standard errors of the late reward above the early one that count as a loss of reward

NORMAL = Normal(
    id="LOSS_RISING_FROM_ZERO",
    title="The loss rises from zero because KL does",
    worry="The loss starts at zero and grows from there.",
    asks="The loss equals beta times KL row by row, and the reward has not fallen.",
    explanation=(
        "The logged loss is beta times KL: {beta} times {kl} nats/token. Both are zero while the policy is the reference "
        "and grow as it learns; the policy term averages to zero. Read the reward, not the loss."
    ),
    requires=("loss", "kl_mean", "reward_mean"),
    shows=("loss", "kl_mean", "reward_mean"),
    unless=(
        "KL_BLOWUP", "KL_DOMINATES", "REWARD_COLLAPSE", "NUMERIC_NAN", "GRAD_PATHOLOGY", "REFERENCE_MISMATCH",
        "REWARD_STD_DEATH", "ENTROPY_EXPLOSION", "LENGTH_COLLAPSE", "NO_LEARNING", "TRUNCATION_STARVE",
    ),
    weight=9,
)  # fmt: skip


def judge(rows: Rows) -> Normality:
    """Holds while the loss is the KL term, has risen from next to nothing, and the reward has not fallen."""
    loss, start = rows.smooth("loss", 9), rows.baseline("loss", 5).level
    risen = (rows.change("loss").z >= RISEN) & (np.abs(start) <= START * loss)
    kept = rows.change("reward_mean").z > FALLEN
    return Normality(
        holds=loss_is_penalty(rows) & risen & kept,
        facts={"beta": coefficient(rows), "kl": rows.smooth("kl_mean", 9)},
    )
