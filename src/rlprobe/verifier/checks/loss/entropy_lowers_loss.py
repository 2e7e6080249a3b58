"""An entropy bonus lowers the loss as entropy rises, at unmasked tokens alone."""

import numpy as np

from rlprobe.verifier.measure.loss import off_policy, policy_loss
from rlprobe.verifier.measure.loss_inputs import outside, with_hole
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, passed
from rlprobe.verifier.subject import Subject, shown

CHECK = Check(
    id="V427",
    title="the entropy bonus lowers the loss",
    formula="∂loss / ∂H < 0",
    stage="loss",
    category="log-space signs",
    needs=("loss",),
    fix="Subtract coefficient * masked mean of the entropy from the loss.",
    causes=("ENTROPY_COLLAPSE", "ENTROPY_EXPLOSION"),
)


def run(subject: Subject) -> Outcome:
    """Slope of the loss by each token's entropy."""
    loss = policy_loss(subject)
    if not loss.takes("entropy"):
        return not_applicable("the loss takes no entropy")
    values = with_hole(off_policy(subject, CHECK.id))
    values["entropy"] = subject.rng(CHECK.id).uniform(0.5, 1.5, size=np.asarray(values["logprobs"]).shape)
    if loss.takes("entropy_coefficient"):
        values["entropy_coefficient"] = 0.1
    mask = np.asarray(values["mask"], dtype=bool)
    slope = loss.slope(values, "entropy")
    small = loss.slopes.floor
    if (slope[mask] > small).any():
        return failed("loss", f"Higher entropy raises the loss (slope {slope[mask].max():.4g}).", expected="<= 0",
                      got=shown(slope), example=loss.arguments(values), fingerprint="entropy sign")  # fmt: skip
    if outside(slope, mask) > small:
        return failed("loss", "The entropy of masked tokens changes the loss.", expected="0 where the mask is 0",
                      got=shown(slope), example=loss.arguments(values), fingerprint="entropy not masked")  # fmt: skip
    return passed("no entropy bonus" if not slope.any() else "")
