"""The reference enters the KL term alone: the policy term compares with the old policy, the KL with the reference."""

import numpy as np

from rlprobe.verifier.measure.loss import PolicyLoss, off_policy, policy_loss
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, passed
from rlprobe.verifier.subject import Subject, shown

CHECK = Check(
    id="V458",
    title="the reference enters the KL term alone",
    formula="∂(policy term) / ∂ log q = 0",
    stage="loss",
    category="reference drift",
    needs=("loss",),
    fix="Take the ratio to the old log-probs and the KL to the reference's, not the other way round.",
    causes=("REFERENCE_MISMATCH", "KL_BLOWUP"),
)


def run(subject: Subject) -> Outcome:
    """Policy slope while the reference moves; penalty while the old log-probs move."""
    loss = policy_loss(subject)
    if not loss.takes("ref_logprobs"):
        return not_applicable("the loss takes no reference log-probs")
    values = off_policy(subject, CHECK.id)
    moved = {**values, "ref_logprobs": np.asarray(values["ref_logprobs"]) - 0.2}
    before, after = loss.policy_slope(values), loss.policy_slope(moved)
    if not loss.close(before, after, slack=100):
        return failed(
            "loss",
            "The policy term changes with the reference's log-probs.",
            expected=shown(before),
            got=shown(after),
            example=loss.arguments(moved),
            fingerprint="reference in the policy term",
        )
    if not _ignored(loss, values) or not loss.takes("old_logprobs"):
        return passed()
    near = {**values, "old_logprobs": values["logprobs"]}
    pull, none = loss.penalty_slope(values), loss.penalty_slope(near)
    if np.abs(pull).max() > 1e3 * loss.slopes.floor and np.abs(none).max() <= loss.slopes.floor:
        return failed(
            "loss",
            "The loss penalises distance to the old policy and ignores the reference.",
            got=shown(pull),
            expected="a pull towards the reference",
            example=loss.arguments(values),
            fingerprint="KL to the old policy",
        )
    return passed("the reference plays no part")


def _ignored(loss: PolicyLoss, values: dict[str, object]) -> bool:
    """Whether the loss is the same for another reference."""
    moved = {**values, "ref_logprobs": np.asarray(values["ref_logprobs"]) - 0.2}
    return loss.value(values) == loss.value(moved) and loss.close(loss.slope(values), loss.slope(moved))
