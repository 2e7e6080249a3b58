"""The gradient of the KL term draws the policy to the reference, in expectation over all tokens."""

import numpy as np

from rlprobe.verifier.measure.kl_term import kl_term, token_slope
from rlprobe.verifier.measure.loss import policy_loss
from rlprobe.verifier.oracles.kl import policies, slope_of_expectation, slope_of_kl
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, passed
from rlprobe.verifier.subject import Subject, shown

NEUTRAL = 1e-4  # of the single tokens' slopes; below, there is no pull on the average (k1)
CHECK = Check(
    id="V422",
    title="the KL term draws the policy to the reference",
    formula="-∇ KL points from p to q",
    stage="loss",
    category="log-space signs",
    needs=("loss",),
    fix="Add the KL to the loss (never subtract it), of the present log-probs, undetached, policy first.",
    causes=("KL_BLOWUP", "REFERENCE_MOVING"),
)


def run(subject: Subject) -> Outcome:
    """Expected gradient by a tiny policy's logits against that of the exact KL."""
    term = kl_term(subject)
    if term is None or not term.present:
        return not_applicable("the loss has no KL term")
    loss = policy_loss(subject)
    for p, q in policies():
        slopes = token_slope(loss, term.settings, np.log(p), np.log(q))
        found, exact = slope_of_expectation(p, slopes), slope_of_kl(p, q)
        size = float(np.abs(slopes).max())
        example = {"logprobs": np.log(p), "ref_logprobs": np.log(q)}
        if not np.isfinite(slopes).all() or size <= loss.slopes.floor:
            return failed(
                "loss", "The KL term changes the loss and gives no gradient.", expected="a pull towards the reference",
                got=shown(slopes), example=example, fingerprint="KL detached",
            )  # fmt: skip
        if np.abs(found).max() <= NEUTRAL * size:
            return passed("no pull on the average (k1 as a loss)")
        cosine = float(found @ exact / np.sqrt((found @ found) * (exact @ exact)))
        if cosine <= 0:
            return failed(
                "loss", f"The KL term pushes the policy away from the reference (cosine {cosine:.2f}).",
                expected=shown(exact), got=shown(found), example=example, fingerprint="KL subtracted or reversed",
            )  # fmt: skip
    return passed()
