"""With more than one inner step the old log-probs matter: the ratio compares the policy with the one that sampled."""

import numpy as np

from rlprobe.verifier.measure.loss import off_policy, policy_loss
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, passed
from rlprobe.verifier.subject import Subject, shown

BY_RATIO = ("ppo", "grpo", "dapo", "dr_grpo", "gspo", "cispo")
CHECK = Check(
    id="V417",
    title="the old log-probs matter",
    formula="∂loss / ∂ log p_old ≠ 0 off policy",
    stage="loss",
    category="reference drift",
    needs=("loss",),
    fix="Take the ratio to the log-probs of the policy that sampled, not to the present ones or the reference's.",
    causes=("RATIO_NOT_ONE", "STALENESS"),
)


def run(subject: Subject) -> Outcome:
    """Value and slope while the old log-probs move by a tenth of a nat."""
    loss = policy_loss(subject)
    steps = subject.declared.number("inner_steps")
    if not loss.takes("old_logprobs"):
        if steps and steps > 1:
            return failed("loss", f"{steps:g} inner steps were declared and the loss takes no old log-probs.",
                          expected="a parameter for old log-probs", got="none")  # fmt: skip
        return not_applicable("the loss takes no old log-probs")
    values = off_policy(subject, CHECK.id)
    away = -0.1 * np.sign(np.asarray(values["advantages"]))[:, None]
    moved = {**values, "old_logprobs": np.asarray(values["old_logprobs"]) - away}
    slopes = loss.policy_slope(values), loss.policy_slope(moved)
    gap = abs(loss.value(values) - loss.value(moved))
    if gap > 1e-6 or not loss.close(slopes[0], slopes[1], slack=10):
        return passed()
    clipped = any(edge is not None for edge in subject.declared.clip())
    demanded = bool(steps and steps > 1) or (
        steps is None and (clipped or subject.declared.text("algorithm") in BY_RATIO)
    )
    if not demanded:
        return passed("the old log-probs are not used; right for one inner step")
    return failed(
        "loss",
        "Old log-probs that move by 0.1 nats change neither the loss nor its gradient.",
        expected="another loss",
        got=shown(loss.value(moved)),
        example=loss.arguments(moved),
        fingerprint="ratio to itself",
    )
