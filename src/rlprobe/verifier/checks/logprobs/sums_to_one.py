"""The probabilities of all tokens at one position sum to 1."""

import numpy as np

from rlprobe.verifier.measure.logprobs import VOCABULARY, drawn, measured
from rlprobe.verifier.outcome import Check, Outcome, failed, passed
from rlprobe.verifier.subject import Subject, shown

NEAR = 1e-3
CHECK = Check(
    id="V304",
    title="probabilities of all tokens sum to 1",
    formula="Σ_y exp(log p(y)) = 1",
    stage="logprobs",
    category="log-space signs",
    needs=("logprobs",),
    fix="Normalise over the vocabulary (last axis), over all of it, with the same logits that are gathered.",
    causes=("RATIO_NOT_ONE", "DECODE_MISMATCH"),
)


def run(subject: Subject) -> Outcome:
    """Every token of the vocabulary in every position, at temperatures 1 and 2."""
    function = measured(subject)
    logits, ids = drawn(subject, CHECK.id)
    for temperature in (1.0, 2.0):
        with np.errstate(over="ignore"):
            probabilities = np.exp(
                np.stack([function(logits, np.full_like(ids, token), temperature) for token in range(VOCABULARY)])
            )
        total = probabilities.sum(axis=0)
        scored = np.ptp(probabilities, axis=0) > 0  # a column of zeros predicts nothing
        if not np.any(scored) or np.abs(total[scored] - 1.0).max() > NEAR:
            worst = total[scored][np.abs(total[scored] - 1.0).argmax()] if np.any(scored) else float(VOCABULARY)
            return failed(
                "logprobs",
                f"The probabilities of all {VOCABULARY} tokens at one position sum to {worst:.4g}.",
                expected="1",
                got=shown(total),
                example=function.arguments(logits, ids, temperature),
            )
    return passed()
