"""The mask takes out its own tokens only: log-probs of valid tokens stay what they are."""

import numpy as np

from rlprobe.verifier.measure.logprobs import TOLERANCE, distance, drawn, measured
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, passed
from rlprobe.verifier.subject import Subject, shown

CHECK = Check(
    id="V318",
    title="the mask takes out its own tokens only",
    formula="log p(masked)[mask] = log p[mask]",
    stage="logprobs",
    category="masks and alignment",
    needs=("logprobs",),
    fix="Shift the mask as the ids are shifted: mask[:, 1:] goes with ids[:, 1:].",
    causes=("RATIO_NOT_ONE",),
)


def run(subject: Subject) -> Outcome:
    """One token a row masked, in the middle and at the end; all others are compared."""
    function = measured(subject)
    if not function.function.takes("mask"):
        return not_applicable("the function takes no mask")
    logits, ids = drawn(subject, CHECK.id)
    values = function.arguments(logits, ids)
    before = function.function(**values)
    mask = np.ones(ids.shape, dtype=bool)
    mask[0, 2] = mask[1, -1] = False
    after = function.function(**{**values, "mask": mask})
    scored = {"aligned": mask, "shifted": mask[:, 1:], "zero_first": mask, "zero_last": np.roll(mask, -1, axis=1)}
    valid = scored[function.layout]
    gap = distance(after[valid], before[valid])
    if gap > TOLERANCE:
        return failed(
            "logprobs",
            f"Masking one token changes the log-probs of others by up to {gap:.3g} nats.",
            expected=shown(np.where(valid, before, 0.0)),
            got=shown(after),
            example={**values, "mask": mask},
            fingerprint="the mask is shifted by one" if np.any(after[valid] == 0.0) else "",
        )
    return passed()
