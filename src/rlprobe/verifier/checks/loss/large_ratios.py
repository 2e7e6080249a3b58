"""Ratios of a hundred million to one leave loss and gradient finite, for either sign of advantage."""

import numpy as np

from rlprobe.verifier.measure.loss import policy_loss
from rlprobe.verifier.measure.loss_clip import planted
from rlprobe.verifier.outcome import Check, Outcome, failed, passed
from rlprobe.verifier.subject import Subject, shown

NATS = 18.0  # exp(18) is 6.6e7, far inside float32
CHECK = Check(
    id="V448",
    title="large ratios leave loss and gradient finite",
    formula="loss and ∇loss finite for ρ up to 1e8",
    stage="loss",
    category="constants",
    needs=("loss",),
    fix="Exponentiate the clamped log-ratio, and use what was clamped.",
    causes=("NUMERIC_NAN", "GRAD_PATHOLOGY"),
)


def run(subject: Subject) -> Outcome:
    """Value and slope at log-ratios of plus and minus 18 nats."""
    loss = policy_loss(subject)
    for sign in (1.0, -1.0):
        values = planted(np.array([NATS, -NATS, 0.0]), np.full(3, sign))
        value, slope = loss.value(values), loss.slope(values)
        if not (np.isfinite(value) and np.isfinite(slope).all()):
            return failed("loss", f"At log-ratios of {NATS:g} nats the loss is {value:.4g}.", expected="finite numbers",
                          got=f"loss {value:.4g}, slope {shown(slope)}", example=loss.arguments(values))  # fmt: skip
    return passed()
