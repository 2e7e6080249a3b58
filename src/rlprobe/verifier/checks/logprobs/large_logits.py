"""Logits of thousands give finite log-probs: the largest is taken off before the exponential."""

import numpy as np

from rlprobe.verifier.measure.logprobs import distance, drawn, measured
from rlprobe.verifier.outcome import Check, Outcome, failed, passed
from rlprobe.verifier.subject import Subject, shown

RELATIVE = 1e-5  # of the largest logit: float32 inside the function rounds logits of that size
CHECK = Check(
    id="V309",
    title="large logits give finite log-probs",
    formula="log p finite for |z| of thousands",
    stage="logprobs",
    category="constants",
    needs=("logprobs",),
    fix="Use log_softmax or logsumexp instead of log(softmax) or log(sum(exp)).",
    causes=("NUMERIC_NAN",),
)


def run(subject: Subject) -> Outcome:
    """Logits around +2000 and -2000, and spread over 2000."""
    function = measured(subject)
    plain, ids = drawn(subject, CHECK.id)
    for told, logits in (
        ("around 2000", plain + 2000.0),
        ("around -2000", plain - 2000.0),
        ("500 apart", 250.0 * plain),
    ):
        with np.errstate(all="ignore"):
            found = function(logits, ids)
        wanted = function.expected(logits, ids)
        if distance(found, wanted) > RELATIVE * max(float(np.abs(logits).max()), 1.0) + 1e-3:
            bad = found[~np.isfinite(found)]
            return failed(
                "logprobs",
                f"Logits {told} give log-probs of {bad[0] if bad.size else found.min():.4g}.",
                expected=shown(wanted),
                got=shown(found),
                example=function.arguments(logits, ids),
                fingerprint="the exponential overflows or underflows" if bad.size else "",
            )
    return passed()
