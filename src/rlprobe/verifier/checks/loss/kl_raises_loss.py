"""Away from the reference the loss is higher, in expectation over all tokens."""

import numpy as np

from rlprobe.verifier.measure.kl_estimators import LOG_RATIOS
from rlprobe.verifier.measure.kl_term import kl_term, token_term
from rlprobe.verifier.measure.loss import policy_loss
from rlprobe.verifier.oracles.kl import expected, policies
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, passed
from rlprobe.verifier.subject import Subject, shown

CHECK = Check(
    id="V423",
    title="distance to the reference raises the loss",
    formula="loss(p ≠ q) > loss(p = q)",
    stage="loss",
    category="log-space signs",
    needs=("loss",),
    fix="Add coefficient * KL to the loss; subtract it only from a reward.",
    causes=("KL_BLOWUP",),
)


def run(subject: Subject) -> Outcome:
    """Expected term of three pairs of policies over the term at equality."""
    term = kl_term(subject)
    if term is None or not term.present:
        return not_applicable("the loss has no KL term")
    loss = policy_loss(subject)
    for p, q in policies():
        far = token_term(loss, term.settings, np.log(p), np.log(q))
        near = token_term(loss, term.settings, np.log(p), np.log(p))
        rise = expected(p, far - near)
        if not rise > 0:
            return failed(
                "loss",
                f"Away from the reference the loss changes by {rise:.4g} on the average.",
                expected="a rise",
                got=f"{rise:.4g}; over log-ratios {shown(LOG_RATIOS)}: {shown(term.rise)}",
                example={"logprobs": np.log(p), "ref_logprobs": np.log(q)},
                fingerprint="KL subtracted" if rise < 0 else "KL without effect on the value",
            )
    return passed()
