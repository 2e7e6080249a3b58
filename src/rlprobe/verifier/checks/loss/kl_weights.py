"""The KL term is averaged over tokens as the policy term is, so that its coefficient means the same for every row."""

import numpy as np

from rlprobe.verifier.measure.kl_term import kl_term
from rlprobe.verifier.measure.loss import policy_loss
from rlprobe.verifier.measure.loss_ratio import ratio_law
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, not_checkable, passed, warned
from rlprobe.verifier.subject import Subject, shown

EXACT = 1e-2  # relative
CHECK = Check(
    id="V428",
    title="KL and policy term are averaged alike",
    formula="weights of KL terms = weights of policy terms",
    stage="loss",
    category="scaling and aggregation",
    needs=("loss",),
    fix="Add coefficient * KL to the token's own term before masking and averaging, or average it the same way.",
    causes=("KL_DOMINATES", "LENGTH_BIAS"),
)


def run(subject: Subject) -> Outcome:
    """Share of each token in the KL term's slope against its share in the policy term's."""
    term = kl_term(subject)
    if term is None or not term.present:
        return not_applicable("the loss has no KL term")
    total = float(term.policy_weights.sum())
    if not term.weights.any() or not total:
        return not_checkable("one of the terms gives no gradient: told at V402 and V422")
    policy = term.policy_weights / total
    gap = np.abs(term.weights - policy)[term.mask].max() / np.abs(policy).max()
    if gap <= EXACT:
        return passed()
    law = ratio_law(subject)  # losses of whole sequences have no token term that the KL could join
    verdict = warned if law is not None and law.name in ("sequence", "sequence_sum") else failed
    return verdict(
        "loss",
        f"Tokens have other shares in the KL term than in the policy term (up to {gap:.0%} apart).",
        expected=shown(policy[term.mask]),
        got=shown(term.weights[term.mask]),
        example=policy_loss(subject).arguments(term.values),
    )
