"""A row without a single unmasked token leaves the loss finite: nothing is divided by its zero length."""

import numpy as np

from rlprobe.verifier.function import RaisedError
from rlprobe.verifier.measure.loss import PolicyLoss, off_policy, policy_loss, unmasked
from rlprobe.verifier.measure.loss_inputs import without_row
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, passed, warned
from rlprobe.verifier.subject import Subject

CHECK = Check(
    id="V424",
    title="a fully masked row leaves the loss finite",
    formula="Σ mask = 0 in a row  =>  loss finite",
    stage="loss",
    category="masks and alignment",
    needs=("loss",),
    fix="Clamp the number of tokens to at least 1 before dividing by it.",
    causes=("NUMERIC_NAN", "TRUNCATION_STARVE"),
)


def run(subject: Subject) -> Outcome:
    """Loss and slope of a batch with one masked row, then of one that is masked altogether."""
    loss = policy_loss(subject)
    if unmasked(subject):
        return not_applicable("the loss takes no mask")
    values = off_policy(subject, CHECK.id)
    one = without_row(values, 1)
    everything = {**values, "mask": np.zeros_like(np.asarray(values["mask"]))}
    for masked, what in ((one, "a fully masked row"), (everything, "a fully masked batch")):
        if _finite(loss, masked):
            continue
        demanded = bool(subject.declared.get("mask_truncated"))
        if masked is everything and not demanded:
            return passed("the loss of a batch without a single unmasked token is not a number")
        verdict = failed if demanded and masked is one else warned
        return verdict(
            "loss",
            f"The loss of a batch with {what} is not a number"
            + ("." if demanded else "; harmless as long as no such batch comes."),
            expected="a finite loss and gradient",
            got="NaN",
            example=loss.arguments(masked),
            fingerprint="division by a length of 0",
        )
    return passed()


def _finite(loss: PolicyLoss, values: dict[str, object]) -> bool:
    try:
        with np.errstate(all="ignore"):
            return bool(np.isfinite(loss.value(values)) and np.isfinite(loss.slope(values)).all())
    except RaisedError:
        return False
