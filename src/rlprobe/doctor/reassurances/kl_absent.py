"""No KL is logged: with beta zero there is no reference to measure it against."""

import numpy as np

from rlprobe.doctor.normal import Normal, Normality
from rlprobe.doctor.penalty import coefficient
from rlprobe.doctor.rows import Rows

ROWS = 5  # rows after which a KL that should be there would be

NORMAL = Normal(
    id="KL_ABSENT",
    title="No KL is logged because beta is zero",
    worry="The KL to the reference is missing, NaN or exactly zero.",
    asks="The settings or the log say that beta is zero.",
    explanation=(
        "Beta is zero, so the trainer loads no reference model and has no KL to log. Drift can still be seen in entropy, "
        "completion length and held-out scores. Set beta above zero to have the KL measured."
    ),
    requires=("reward_mean",),
    shows=(),
    unless=(),
    weight=4,
)


def judge(rows: Rows) -> Normality:
    """Holds while beta is known to be zero and no row has a KL other than zero."""
    beta = coefficient(rows)
    absent = np.isnan(rows.series("kl_mean").values) | ~rows.measured("kl_mean")
    return Normality(holds=(beta == 0) & absent & (rows.observations("reward_mean") >= ROWS))
