"""Masked tokens play no part in the value loss: no gradient, no content, no width of the padding."""

import numpy as np

from rlprobe.verifier.measure.loss_inputs import outside, padded, with_hole, with_junk
from rlprobe.verifier.measure.loss_value import ValueLoss, near, value_loss
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, passed
from rlprobe.verifier.subject import Subject, shown

CHECK = Check(
    id="V445",
    title="masked tokens play no part in the value loss",
    formula="mask_t = 0  =>  ∂loss / ∂V_t = 0",
    stage="loss",
    category="masks and alignment",
    needs=("value_loss",),
    fix="Multiply the squared errors by the mask and divide by the number of unmasked tokens.",
    causes=("VALUE_DIVERGENCE",),
)


def run(subject: Subject) -> Outcome:
    """Slope at masked positions, value with other numbers there, slope with more padding."""
    loss = value_loss(subject)
    if not loss.function.takes("mask"):
        return not_applicable("the value loss takes no mask")
    plain = near(subject.rng(CHECK.id))
    for values in (plain, with_hole(plain)):
        mask = np.asarray(values["mask"], dtype=bool)
        slope = loss.slope(values)
        if outside(slope, mask) > loss.slopes.floor + loss.slopes.tolerance * float(np.abs(slope).max()):
            return failed(
                "value_loss",
                f"A masked value gets a gradient of {outside(slope, mask):.4g}.",
                got=shown(slope),
                expected="0 where the mask is 0",
                example=loss.arguments(values),
            )
        junk = with_junk(values)
        before, after = loss.value(values), loss.value(junk)
        if not abs(before - after) <= 1e-9 + 10 * loss.slopes.tolerance * abs(before):
            return failed(
                "value_loss",
                "Other numbers at masked positions change the value loss.",
                expected=f"{before:.6g}",
                got=f"{after:.6g}",
                example=loss.arguments(junk),
            )
    return _width(loss, plain)


def _width(loss: ValueLoss, values: dict[str, object]) -> Outcome:
    wide = padded(values, right=3)
    before, after = loss.slope(values), loss.slope(wide)[:, : np.asarray(values["mask"]).shape[1]]
    if loss.close(before, after):
        return passed()
    return failed(
        "value_loss",
        "Three more masked columns change the gradient of the value loss.",
        expected=shown(before),
        got=shown(after),
        example=loss.arguments(wide),
        fingerprint="divided by the width of the batch",
    )
