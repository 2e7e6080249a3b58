"""Entropy is minus the sum of p log p over the vocabulary, by token or averaged over the mask."""

import numpy as np

from rlprobe.recording.run import FloatArray
from rlprobe.verifier.measure.logprobs import TOLERANCE
from rlprobe.verifier.measure.logprobs_entropy import Entropy, drawn, in_form, measured
from rlprobe.verifier.oracles.logprobs import log_softmax
from rlprobe.verifier.outcome import Check, Outcome, failed, passed
from rlprobe.verifier.subject import Subject, shown

CHECK = Check(
    id="V321",
    title="entropy is minus the sum of p log p",
    formula="H = -Σ_y p(y) log p(y)",
    stage="logprobs",
    category="log-space signs",
    needs=("entropy",),
    fix="Sum -p * log p over the vocabulary (last axis), then average over the mask's tokens.",
    causes=("ENTROPY_COLLAPSE", "ENTROPY_EXPLOSION"),
)


def run(subject: Subject) -> Outcome:
    """Soft and sharp random logits against the definition, in the form that comes nearest."""
    entropy = measured(subject)
    for sharpness in (1.0, 3.0):
        logits, mask = drawn(subject, CHECK.id, sharpness=sharpness)
        found, wanted = entropy.pair(logits, mask)
        if not np.isfinite(found).all() or np.abs(found - wanted).max() > TOLERANCE * max(1.0, float(wanted.max())):
            return failed(
                "entropy",
                f"The entropy ({entropy.form}) is off by up to {np.abs(found - wanted).max():.3g} nats.",
                expected=shown(wanted),
                got=shown(found),
                example=entropy.arguments(logits, mask),
                fingerprint=_fingerprint(entropy, logits, found, wanted, mask),
            )
    return passed(f"form: {entropy.form}")


def _fingerprint(entropy: Entropy, logits: FloatArray, found: FloatArray, wanted: FloatArray, mask: object) -> str:
    if np.abs(found + wanted).max() < TOLERANCE:
        return "negated"
    if np.abs(found * logits.shape[-1] - wanted).max() < TOLERANCE * 10:
        return "mean over the vocabulary instead of the sum"
    if np.abs(found - wanted / np.log(2.0)).max() < TOLERANCE:
        return "in bits"
    whole = np.ones(logits.shape[:2], dtype=bool)
    logp = log_softmax(logits)
    everywhere = in_form(np.asarray(-(np.exp(logp) * logp).sum(-1)), whole, entropy.form)
    same = everywhere.size == found.size and np.abs(everywhere.reshape(-1) - found).max() < TOLERANCE
    return "padding is counted" if same else ""
