"""Padding does not reach the entropy: junk under the mask and further columns change nothing."""

import numpy as np

from rlprobe.verifier.measure.logprobs import TOLERANCE
from rlprobe.verifier.measure.logprobs_entropy import drawn, measured
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, passed
from rlprobe.verifier.subject import Subject, shown

CHECK = Check(
    id="V323",
    title="padding does not reach the entropy",
    formula="H(junk under the mask) = H",
    stage="logprobs",
    category="masks and alignment",
    needs=("entropy",),
    fix="Multiply by the mask before summing, and divide by the mask's own count.",
    causes=("ENTROPY_COLLAPSE", "ENTROPY_EXPLOSION"),
)


def run(subject: Subject) -> Outcome:
    """The same valid logits over flat and over sharp padding, and with two more columns."""
    entropy = measured(subject)
    if not entropy.function.takes("mask"):
        return not_applicable("the function takes no mask")
    logits, mask = drawn(subject, CHECK.id)
    before, _ = entropy.pair(np.where(mask[..., None], logits, 0.0), mask)
    sharp = np.where(mask[..., None], logits, 30.0 * np.arange(logits.shape[-1]))
    wide = np.pad(np.where(mask[..., None], logits, 0.0), ((0, 0), (0, 2), (0, 0)))
    for told, (junk, own) in {
        "sharp padding": (sharp, mask),
        "more padding": (wide, np.pad(mask, ((0, 0), (0, 2)))),
    }.items():
        found, _ = entropy.pair(junk, own)
        if found.shape != before.shape or np.abs(found - before).max() > TOLERANCE:
            return failed(
                "entropy",
                f"With {told}, the entropy of valid tokens changes.",
                expected=shown(before),
                got=shown(found),
                example=entropy.arguments(junk, own),
            )
    return passed()
