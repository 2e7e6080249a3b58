"""Whitening is over the mask: what stands outside reaches neither the mean nor the deviation."""

import numpy as np

from rlprobe.verifier import inputs
from rlprobe.verifier.measure.advantages import TOLERANCE, relative
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, passed
from rlprobe.verifier.subject import Subject, shown

CHECK = Check(
    id="V223",
    title="padding does not reach whitened values",
    formula="whiten(x, mask) hangs on x[mask] alone",
    stage="advantages",
    category="masks and alignment",
    needs=("whiten",),
    fix="Take mean, variance and count over the mask, all three.",
    causes=("ADVANTAGE_INVALID", "LENGTH_BIAS"),
)


def run(subject: Subject) -> Outcome:
    """The same valid numbers with two kinds of junk around them, and in a wider batch."""
    function = subject.function("whiten")
    if not function.takes("mask"):
        return not_applicable("the function takes no mask")
    rng = subject.rng(CHECK.id)
    mask = inputs.mask([5, 2, 3], 5)
    mask[0, 2] = False
    values = rng.normal(size=mask.shape) + 1.0
    plain = function(values=np.where(mask, values, 0.0), mask=mask)[mask]
    wide = np.pad(mask, ((0, 0), (0, 3)))
    cases = {
        "7 in padding": (np.where(mask, values, 7.0), mask),
        "-40 in padding": (np.where(mask, values, -40.0), mask),
    }
    cases["three columns of padding"] = (np.pad(np.where(mask, values, 0.0), ((0, 0), (0, 3))), wide)
    for told, (junk, own) in cases.items():
        found = function(values=junk, mask=own)[own]
        if relative(found, plain) > TOLERANCE:
            return failed(
                "whiten",
                f"With {told}, valid numbers change by up to {relative(found, plain):.3g} of the largest.",
                expected=shown(plain),
                got=shown(found),
                example={"values": junk, "mask": own},
            )
    return passed()
