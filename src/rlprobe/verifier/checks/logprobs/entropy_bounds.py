"""Entropy is 0 where one token is certain, log V where all V are alike, and between the two everywhere else."""

import numpy as np

from rlprobe.verifier.measure.logprobs_entropy import ROWS, TOKENS, VOCABULARY, drawn, measured
from rlprobe.verifier.outcome import Check, Outcome, failed, passed
from rlprobe.verifier.subject import Subject, shown

NEAR = 1e-3  # nats
CHECK = Check(
    id="V320",
    title="entropy lies between 0 and log V and reaches both",
    formula="0 <= H <= log V",
    stage="logprobs",
    category="log-space signs",
    needs=("entropy",),
    fix="Normalise the logits before multiplying p with log p, and keep the minus sign.",
    causes=("ENTROPY_COLLAPSE", "ENTROPY_EXPLOSION"),
)


def run(subject: Subject) -> Outcome:
    """Certain, uniform and random logits, small and large; sums over tokens are left to the definition."""
    entropy = measured(subject)
    if "sum" in entropy.form:
        return passed("a sum over tokens has no common bound")
    random, mask = drawn(subject, CHECK.id)
    shape = (ROWS, TOKENS, VOCABULARY)
    certain = np.zeros(shape)
    certain[..., 2] = 60.0
    top = float(np.log(VOCABULARY))
    cases = {
        "uniform logits": (np.full(shape, 3.0), top, top),
        "a certain token": (certain, 0.0, 0.0),
        "random logits": (random, 0.0, top),
        "large logits": (1000.0 * random, 0.0, top),
    }
    for told, (logits, low, high) in cases.items():
        with np.errstate(all="ignore"):
            found, _ = entropy.pair(logits, mask)
        if not np.isfinite(found).all() or found.min() < low - NEAR or found.max() > high + NEAR:
            worst = (
                found[~np.isfinite(found)][0] if not np.isfinite(found).all() else found[np.abs(found - low).argmax()]
            )
            return failed(
                "entropy",
                f"With {told}, the entropy is {worst:.4g}.",
                expected=f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}",
                got=shown(found),
                example=entropy.arguments(logits, mask),
            )
    return passed()
