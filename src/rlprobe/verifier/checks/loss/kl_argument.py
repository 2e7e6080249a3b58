"""The KL coefficient that the loss takes as an argument is the factor before its KL term."""

import numpy as np

from rlprobe.recording.run import FloatArray
from rlprobe.verifier.measure.kl_term import away, kl_term
from rlprobe.verifier.measure.loss import policy_loss
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, passed
from rlprobe.verifier.subject import Subject, shown

COEFFICIENTS = (0.05, 0.2)
CHECK = Check(
    id="V442",
    title="the KL coefficient argument is honoured",
    formula="loss(β) - loss(0) = β · KL",
    stage="loss",
    category="constants",
    needs=("loss",),
    fix="Multiply the KL by the argument, once; no literal in its place.",
    causes=("KL_DOMINATES", "KL_BLOWUP"),
)


def run(subject: Subject) -> Outcome:
    """Slope of the KL term under two coefficients and under 0."""
    loss = policy_loss(subject)
    if not loss.takes("kl_coefficient") or not loss.takes("ref_logprobs"):
        return not_applicable("the loss takes no KL coefficient as an argument")
    term = kl_term(subject)
    assert term is not None  # it takes reference log-probs
    values = away(term.values, 0.5)
    slopes = [loss.slope({**values, "kl_coefficient": one}) for one in COEFFICIENTS]
    none = loss.slope({**values, "kl_coefficient": 0.0})
    factor = COEFFICIENTS[1] / COEFFICIENTS[0]
    linear = loss.close(slopes[0] * factor, slopes[1], slack=10)
    if linear and np.abs(slopes[1]).max() > loss.slopes.floor and np.abs(none).max() <= loss.slopes.floor:
        return passed()
    ignored = loss.close(slopes[0], slopes[1], slack=10)
    return failed(
        "loss",
        f"Four times the coefficient gives {_quotient(slopes[1], slopes[0])} times the KL gradient.",
        expected=shown(slopes[0] * factor),
        got=shown(slopes[1]),
        example=loss.arguments({**values, "kl_coefficient": COEFFICIENTS[1]}),
        fingerprint="coefficient ignored" if ignored else "",
    )


def _quotient(numerator: FloatArray, denominator: FloatArray) -> str:  # fmt: skip
    size = float(np.abs(denominator).max())
    return f"{float(np.abs(numerator).max()) / size:.4g}" if size else "no"
