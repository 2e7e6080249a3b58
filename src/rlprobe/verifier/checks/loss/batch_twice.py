"""A batch that holds every row twice has the same loss where it is a mean and twice the loss where it is a sum."""

import numpy as np

from rlprobe.recording.run import FloatArray
from rlprobe.verifier.measure.loss import PolicyLoss, off_policy, policy_loss
from rlprobe.verifier.measure.loss_inputs import reordered
from rlprobe.verifier.outcome import Check, Outcome, failed, not_checkable, passed
from rlprobe.verifier.subject import Subject

EXACT = 1e-3  # relative
CHECK = Check(
    id="V410",
    title="every row twice gives the same mean or twice the sum",
    formula="loss(rows twice) = loss (mean), or 2 · loss (sum)",
    stage="loss",
    category="scaling and aggregation",
    needs=("loss",),
    fix="Divide once: by the number of rows or by the number of tokens, not by both.",
    causes=("GRAD_PATHOLOGY", "NO_LEARNING"),
)


def run(subject: Subject) -> Outcome:
    """Total slope of the rows of a batch, alone and doubled."""
    loss = policy_loss(subject)
    values = off_policy(subject, CHECK.id)
    twice = reordered(values, [*range(4), *range(4)])
    quotients = {
        "policy term": _quotient(loss.policy_slope(values), loss.policy_slope(twice), loss),
        "KL term": _quotient(loss.penalty_slope(values), loss.penalty_slope(twice), loss),
    }
    for term, quotient in quotients.items():
        if quotient is not None and not any(abs(quotient - whole) <= EXACT for whole in (1.0, 2.0)):
            return failed(
                "loss",
                f"With every row twice, the {term} pushes a row {quotient:.4g} times as much.",
                expected="1 (a mean) or 2 (a sum)",
                got=f"{quotient:.4g}",
                example=loss.arguments(twice),
                fingerprint="divided by the number of rows once too often" if abs(quotient - 0.5) <= EXACT else "",
            )
    if quotients["policy term"] is None:
        return not_checkable("the policy term gives no gradient: told at V402")
    subject.measured["loss over rows"] = "mean" if abs(quotients["policy term"] - 1) <= EXACT else "sum"
    return passed(f"a {subject.measured['loss over rows']} over rows")


def _quotient(once: FloatArray, twice: FloatArray, loss: PolicyLoss) -> float | None:
    """Total absolute push on the rows in the doubled batch over that in the single one; None where there is none."""
    size = float(np.abs(once).sum())
    return float(np.abs(twice).sum()) / size if size > 100 * loss.slopes.floor else None
