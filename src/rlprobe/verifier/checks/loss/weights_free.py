"""On policy, a token's push is its advantage times a weight that depends on neither advantages nor log-probs."""

import numpy as np

from rlprobe.recording.run import FloatArray
from rlprobe.verifier.measure.loss import PolicyLoss, on_policy, policy_loss
from rlprobe.verifier.outcome import Check, Outcome, failed, not_checkable, passed
from rlprobe.verifier.subject import Subject, shown

CHECK = Check(
    id="V408",
    title="a token's push is linear in its own advantage",
    formula="-∂loss / ∂ log p_t = w_t · A,  w_t free of A",
    stage="loss",
    category="log-space signs",
    needs=("loss",),
    fix="Multiply the ratio by the advantage itself: no absolute value, clamp, sign or mean of it, and detach weights.",
    causes=("NO_LEARNING", "GRAD_PATHOLOGY"),
)


def run(subject: Subject) -> Outcome:
    """Weights under small, large, negated and mixed advantages, and under other log-probs."""
    loss = policy_loss(subject)
    values = on_policy(subject, CHECK.id)
    base = loss.weights(values)
    if not np.isfinite(base).all():
        return not_checkable("the slope is not finite: told at V402")
    advantages = np.asarray(values["advantages"])
    for what, changed in _variants(values, advantages):
        weights = loss.weights(changed)
        if not loss.close(base, weights, slack=100):
            return failed(
                "loss",
                f"With {what}, a token's push per unit of advantage is another.",
                expected=shown(base),
                got=shown(weights),
                example=loss.arguments(changed),
                fingerprint=_mark(loss, values, changed),
            )
    return passed()


def _variants(values: dict[str, object], advantages: FloatArray) -> list[tuple[str, dict[str, object]]]:
    logprobs = np.asarray(values["logprobs"]) * 0.5 - 1.0
    other = {**values, "logprobs": logprobs, "old_logprobs": logprobs.copy(), "ref_logprobs": logprobs.copy()}
    return [
        ("advantages of the opposite sign", {**values, "advantages": -advantages}),
        ("advantages five times as large", {**values, "advantages": 5 * advantages}),
        ("advantages a tenth as large", {**values, "advantages": advantages / 10}),
        ("one sign of advantage", {**values, "advantages": np.abs(advantages)[::-1].copy()}),
        ("other log-probs at ratio 1", other),
    ]


def _mark(loss: PolicyLoss, values: dict[str, object], changed: dict[str, object]) -> str:
    """The mistake that turns the advantages of the first input into those of the second's slope."""
    first, second = loss.policy_slope(values), loss.policy_slope(changed)
    if np.array_equal(np.asarray(values["logprobs"]), np.asarray(changed["logprobs"])):
        return "advantage without its size or sign" if loss.close(first, second, slack=100) else ""
    return "the weight depends on the log-prob: not detached, or a probability instead of its logarithm"
