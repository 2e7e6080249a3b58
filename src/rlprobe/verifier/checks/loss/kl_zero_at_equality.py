"""Where policy and reference agree the KL is zero: as an estimate for a token, and as a term of the loss."""

import numpy as np

from rlprobe.verifier.measure.kl_slot import arguments
from rlprobe.verifier.measure.kl_term import kl_term
from rlprobe.verifier.measure.loss import policy_loss
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, passed
from rlprobe.verifier.subject import Subject, shown

ZERO = 1e-6  # nats; above float32 rounding of exp(0) - 0 - 1
CHECK = Check(
    id="V420",
    title="the KL is 0 where policy and reference agree",
    formula="p = q  =>  KL = 0",
    stage="loss",
    category="log-space signs",
    needs=("kl|loss",),
    fix="Keep the estimator's constant: exp(ref - log-prob) - (ref - log-prob) - 1.",
    causes=("KL_DOMINATES", "REFERENCE_MISMATCH"),
)


def run(subject: Subject) -> Outcome:
    """The estimate, and the loss with advantages 0, at equal log-probs."""
    if subject.has("kl"):
        function = subject.function("kl")
        log_p = subject.rng(CHECK.id).uniform(-4.0, -0.1, size=(2, 3))
        values = arguments(function, log_p, log_p.copy())
        found = function(**values)
        if not np.abs(found).max() <= ZERO:
            return failed("kl", f"Equal log-probs give {found.reshape(-1)[0]:.6g}.", expected="0", got=shown(found),
                          example=values)  # fmt: skip
    if not subject.has("loss"):
        return passed()
    term = kl_term(subject)
    if term is None or not term.present:
        return passed() if subject.has("kl") else not_applicable("the loss has no KL term")
    if not abs(term.at_equality) <= ZERO:
        return failed(
            "loss", f"With advantages 0 and equal log-probs the loss is {term.at_equality:.6g}.", expected="0",
            got=shown(term.at_equality), example=policy_loss(subject).arguments(term.values),
        )  # fmt: skip
    return passed()
