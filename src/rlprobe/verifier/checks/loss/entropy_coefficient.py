"""The entropy bonus weighs the coefficient that was declared or handed over, relative to the policy term."""

import numpy as np

from rlprobe.verifier.measure.loss import on_policy, policy_loss
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, not_checkable, passed
from rlprobe.verifier.subject import Subject

ARGUMENT = 0.1
EXACT = 1e-2  # relative
CHECK = Check(
    id="V455",
    title="the entropy bonus weighs its coefficient",
    formula="loss(c) - loss(0) = -c · H",
    stage="loss",
    category="constants",
    needs=("loss",),
    fix="Multiply the mean entropy by the coefficient once and keep its graph.",
    causes=("ENTROPY_COLLAPSE", "ENTROPY_EXPLOSION"),
)


def run(subject: Subject) -> Outcome:
    """Total slope by the entropy over the total weight of the policy term."""
    loss = policy_loss(subject)
    if not loss.takes("entropy"):
        return not_applicable("the loss takes no entropy")
    values = on_policy(subject, CHECK.id)
    by_argument = loss.takes("entropy_coefficient")
    if by_argument:
        values["entropy_coefficient"] = ARGUMENT
    expected = ARGUMENT if by_argument else subject.declared.number("entropy_coefficient")
    mask = np.asarray(values["mask"], dtype=bool)
    total = float(loss.weights(values)[mask].sum())
    if not np.isfinite(total) or abs(total) <= loss.slopes.floor:
        return not_checkable("the policy term gives no gradient: told at V402")
    found = -float(loss.slope({**values, "entropy": np.ones(mask.shape)}, "entropy").sum()) / total
    subject.measured["entropy coefficient"] = round(found, 6)
    if expected is None:
        return not_applicable(f"no entropy coefficient was declared; measured: {found:.4g}")
    if abs(found - expected) <= EXACT * max(abs(expected), 1e-3):
        return passed(f"{found:.4g}")
    return failed(
        "loss",
        f"The entropy bonus weighs {found:.4g}; the coefficient is {expected:g}.",
        expected=f"{expected:g}",
        got=f"{found:.4g}",
        example=loss.arguments(values),
        fingerprint="entropy has no effect" if abs(found) <= 1e-9 else "",
    )
