"""A row whose tokens are all masked is as good as absent: it may count in the mean over rows, and does nothing else."""

import numpy as np

from rlprobe.verifier.function import RaisedError
from rlprobe.verifier.measure.loss import off_policy, policy_loss, unmasked
from rlprobe.verifier.measure.loss_inputs import reordered, without_row
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, not_checkable, passed
from rlprobe.verifier.subject import Subject, shown

ROW = 1  # the one that is masked
OTHERS = [0, 2, 3]
CHECK = Check(
    id="V419",
    title="a fully masked row is as good as absent",
    formula="loss(rows + masked row) = loss(rows), up to the mean over rows",
    stage="loss",
    category="masks and alignment",
    needs=("loss",),
    fix="Let masked tokens enter neither numerator nor denominator.",
    causes=("TRUNCATION_STARVE", "GRAD_PATHOLOGY"),
)


def run(subject: Subject) -> Outcome:
    """Slope of three rows with a fourth that is masked, and without it."""
    loss = policy_loss(subject)
    if unmasked(subject):
        return not_applicable("the loss takes no mask")
    values = off_policy(subject, CHECK.id)
    masked = without_row(values, ROW)
    try:
        beside = loss.slope(masked)[OTHERS]
    except RaisedError:
        return not_checkable("a fully masked row makes the loss raise: told at V424")
    if not np.isfinite(beside).all():
        return not_checkable("a fully masked row makes the loss not finite: told at V424")
    alone = loss.slope(reordered(values, OTHERS))
    for factor, told in (
        (1.0, "it does not count"),
        (len(OTHERS) / (len(OTHERS) + 1), "it counts in the mean over rows"),
    ):
        if loss.close(alone * factor, beside, slack=10):
            subject.measured["a fully masked row"] = told
            return passed(told)
    return failed(
        "loss",
        "A fully masked row changes the gradient of the other rows, and not by counting in the mean over rows.",
        expected=f"{shown(alone)} or {len(OTHERS)}/{len(OTHERS) + 1} of it",
        got=shown(beside),
        example=loss.arguments(masked),
    )
