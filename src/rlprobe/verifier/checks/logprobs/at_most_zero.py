"""A log-probability is the logarithm of a number between 0 and 1: no entry is above 0."""

import numpy as np

from rlprobe.verifier.measure.logprobs import drawn, measured
from rlprobe.verifier.outcome import Check, Outcome, failed, passed
from rlprobe.verifier.shrink import shrink
from rlprobe.verifier.subject import Subject, shown

TOLERANCE = 1e-6  # nats; above float32 rounding of a log-softmax
CHECK = Check(
    id="V301",
    title="log-probs are at most 0",
    formula="log p <= 0",
    stage="logprobs",
    category="log-space signs",
    needs=("logprobs",),
    fix="Return logit minus logsumexp, not the reverse; leave the gather and the shift as they are.",
    causes=("REF_POLICY_DRIFT_ASYMMETRY", "KL_BLOWUP"),
)


def run(subject: Subject) -> Outcome:
    """Log-probs of random logits and of strongly peaked ones."""
    logprobs = measured(subject)
    for sharpness in (1.0, 10.0):
        values = logprobs.arguments(*drawn(subject, CHECK.id, sharpness=sharpness))
        if logprobs.function(**values).max() > TOLERANCE:
            small = shrink(values, "logprobs", lambda v: bool(logprobs.function(**v).max() > TOLERANCE))
            got = logprobs.function(**small)
            return failed(
                "logprobs",
                f"A log-prob of {got.max():.4g} is above 0.",
                expected="every entry <= 0",
                got=shown(got),
                example=small,
                fingerprint="negated" if np.all(got >= -TOLERANCE) else "",
            )
    return passed()
