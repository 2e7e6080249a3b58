"""A constant added to all logits of a position changes no log-prob."""

import numpy as np

from rlprobe.verifier.measure.logprobs import TOLERANCE, distance, drawn, measured
from rlprobe.verifier.outcome import Check, Outcome, failed, passed
from rlprobe.verifier.subject import Subject, shown

CHECK = Check(
    id="V305",
    title="a constant added to all logits changes no log-prob",
    formula="log p(z + c) = log p(z)",
    stage="logprobs",
    category="log-space signs",
    needs=("logprobs",),
    fix="Subtract the logsumexp over the vocabulary, in full.",
    causes=("RATIO_NOT_ONE",),
)


def run(subject: Subject) -> Outcome:
    """A different constant on every position."""
    function = measured(subject)
    logits, ids = drawn(subject, CHECK.id)
    constants = subject.rng(CHECK.id + "constant").normal(size=(*ids.shape, 1)) * 10.0
    before, after = function(logits, ids), function(logits + constants, ids)
    gap = distance(after, before)
    if gap > TOLERANCE:
        return failed(
            "logprobs",
            f"Constants of up to {np.abs(constants).max():.3g} added to the logits move log-probs by up to {gap:.3g}.",
            expected=shown(before),
            got=shown(after),
            example=function.arguments(logits + constants, ids),
        )
    return passed()
