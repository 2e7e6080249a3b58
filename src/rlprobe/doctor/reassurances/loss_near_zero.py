"""The loss prints zero, or rises from zero: with centred advantages it is beta times KL and nothing else."""

import numpy as np

from rlprobe.doctor.normal import Normal, Normality
from rlprobe.doctor.rows import Rows

NEAR_ZERO = 0.05  # absolute loss below which people ask whether anything is trained
ROWS = 20  # rows that a gradient must have been there

NORMAL = Normal(
    id="LOSS_NEAR_ZERO",
    title="The loss is near zero and that is right",
    explanation=(
        "Advantages are centred within each group, so the policy term of the loss averages to zero whatever is learned. "
        "Gradients flow (gradient norm {grad_norm}) and rewards vary within groups, so training is alive."
    ),
    requires=("loss", "grad_norm"),
    shows=("loss", "grad_norm"),
    unless=("ZERO_GRADIENT", "NO_WEIGHT_UPDATE", "DEGENERATE_GROUPS", "REWARD_CONSTANT", "NUMERIC_NAN"),
)


def judge(rows: Rows) -> Normality:
    """Holds while the loss is near zero and the gradient is not."""
    loss, gradient = rows.smooth("loss", 9), rows.smooth("grad_norm", 9)
    enough = rows.observations("grad_norm") >= ROWS
    return Normality(holds=(np.abs(loss) < NEAR_ZERO) & (gradient > 0) & enough, facts={"grad_norm": gradient})
