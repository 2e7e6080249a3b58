"""A token that the mask leaves out gets no gradient, be it padding or a tool's answer in the middle of a row."""

import numpy as np

from rlprobe.verifier.measure.loss import PolicyLoss, off_policy, policy_loss, unmasked
from rlprobe.verifier.measure.loss_inputs import outside, with_hole
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, passed
from rlprobe.verifier.shrink import shrink
from rlprobe.verifier.subject import Subject, shown

CHECK = Check(
    id="V403",
    title="masked tokens get no gradient",
    formula="mask_t = 0  =>  ∂loss / ∂ log p_t = 0",
    stage="loss",
    category="masks and alignment",
    needs=("loss",),
    fix="Multiply every token term by the mask before the sum; take the mask as it is, holes included.",
    causes=("NO_LEARNING", "GIBBERISH"),
)


def run(subject: Subject) -> Outcome:
    """Slope of the whole loss at masked positions: padding first, then a hole."""
    loss = policy_loss(subject)
    if unmasked(subject):
        return not_applicable("the loss takes no mask")
    plain = off_policy(subject, CHECK.id)
    for values, what in ((plain, "padding"), (with_hole(plain), "a masked token inside a row")):
        if not _leaks(loss, values):
            continue
        small = shrink(values, "loss", lambda v: _leaks(loss, v))
        slope, mask = loss.slope(small), np.asarray(small["mask"], dtype=bool)
        penalty = outside(loss.penalty_slope(small), mask) > loss.slopes.floor
        policy = outside(loss.policy_slope(small), mask) > loss.slopes.floor
        term = "policy and KL term" if penalty and policy else "KL or entropy term" if penalty else "policy term"
        return failed(
            "loss",
            f"The {term} gives {what} a gradient of {outside(slope, mask):.4g}.",
            expected="0 where the mask is 0",
            got=shown(slope),
            example=loss.arguments(small),
            fingerprint="mask inverted" if not slope[mask].any() else "",
        )
    return passed()


def _leaks(loss: PolicyLoss, values: dict[str, object]) -> bool:
    mask = np.asarray(values["mask"], dtype=bool)
    slope = loss.slope(values)
    return outside(slope, mask) > loss.slopes.floor + loss.tolerance * float(np.abs(slope).max(initial=0.0))
