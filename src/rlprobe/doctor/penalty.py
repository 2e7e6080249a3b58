"""Whether the logged loss is the KL term and nothing else: centred advantages leave a policy term of zero."""

import numpy as np

from rlprobe.doctor.rows import Rows
from rlprobe.recording.run import BoolArray, FloatArray

WIDTH = 20  # rows over which loss and KL term are compared
AGREE = 0.1  # relative difference within which the loss is the KL term
PRINTED = 6e-5  # what a loss printed with four decimals may be off by rounding
MOST = 0.9  # fraction of the rows in which they must agree
NONZERO = 0.25  # fraction of the rows in which the KL term must be large enough to be printed


def coefficient(rows: Rows) -> FloatArray:
    """(n,) beta of the KL term: as logged in the row, else as configured, NaN when neither is known."""
    return np.where(
        np.isnan(logged := rows.series("kl_coefficient").values), rows.number("kl_coefficient", np.nan), logged
    )


def loss_is_penalty(rows: Rows) -> BoolArray:
    """(n,) whether the loss of the last rows equals beta times KL. Carries state: ask once a reassurance."""
    loss, kl = rows.series("loss"), rows.series("kl_mean")
    term = coefficient(rows) * kl.values
    both = loss.fresh & kl.fresh
    close = np.abs(loss.values - term) <= AGREE * np.abs(term) + PRINTED
    agree = rows.recent("loss is penalty", close, both, width=WIDTH)
    visible = rows.recent("penalty is visible", np.abs(term) > 2 * PRINTED, both, width=WIDTH)
    return (agree >= MOST) & (visible >= NONZERO)
