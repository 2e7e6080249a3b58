"""An entropy that is part of the loss has a gradient, and following it flattens the distribution."""

import numpy as np

from rlprobe.verifier.measure.logprobs_entropy import drawn, measured
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, passed, warned
from rlprobe.verifier.subject import Subject, shown

STEP = 1e-3  # along the gradient
CHECK = Check(
    id="V324",
    title="the entropy has a gradient that raises it",
    formula="∂H/∂z ≠ 0 and raises H",
    stage="logprobs",
    category="gradient breakage",
    needs=("entropy",),
    fix="Compute the entropy from logits that are in the graph, without no_grad or detach.",
    causes=("ENTROPY_COLLAPSE",),
)


def run(subject: Subject) -> Outcome:
    """Autograd by the logits, and one small step along it."""
    entropy = measured(subject)
    convention = entropy.function.convention
    if convention is None or convention.framework != "torch":
        return not_applicable("the function does not speak torch")
    logits, mask = drawn(subject, CHECK.id)
    values = entropy.arguments(logits, mask)
    slope = entropy.function.autograd("logits", component=None, **values)
    if slope is None or not np.any(slope):
        rewarded = bool(subject.declared.number("entropy_coefficient")) or subject.takes("loss", "entropy")
        outcome = failed if rewarded else warned
        told = "The entropy has no graph" + (
            " although the loss rewards it." if rewarded else ": right for logging only."
        )
        return outcome("entropy", told, expected="a gradient", got="none", example=values, fingerprint="detached")
    before, after = entropy(logits, mask), entropy(logits + STEP * slope, mask)
    if after.sum() <= before.sum():
        return failed(
            "entropy",
            "A small step along its gradient lowers the entropy.",
            expected=f"above {before.sum():.6g}",
            got=shown(after.sum()),
            example=values,
        )
    return passed()
