"""Log-probs, advantages and loss together follow the exact policy gradient of a tiny policy, all completions summed."""

import numpy as np

from rlprobe.recording.run import FloatArray
from rlprobe.verifier.measure.loss import PolicyLoss, policy_loss
from rlprobe.verifier.measure.tiny_policy import TinyPolicy, tiny_policy
from rlprobe.verifier.oracles.policy_gradient import exact
from rlprobe.verifier.outcome import Check, Outcome, failed, not_checkable, passed
from rlprobe.verifier.subject import Subject, shown

ALIGNED = 0.999  # cosine; every estimator is a positive multiple of the exact gradient on this group
CHECK = Check(
    id="V416",
    title="log-probs, advantages and loss follow the exact policy gradient",
    formula="-∇loss ∥ ∇ E[R] = Σ_y p(y) R(y) ∇ log p(y)",
    stage="loss",
    category="gradient breakage",
    needs=("logprobs", "advantages", "loss"),
    fix="Where the earlier stages pass, look at how their results enter the loss: order, sign, detach.",
    causes=("NO_LEARNING", "REWARD_COLLAPSE"),
)


def run(subject: Subject) -> Outcome:
    """Cosine of the loss's descent direction with the gradient of the expected reward."""
    loss = policy_loss(subject)
    advantages = subject.advantages()
    policy = tiny_policy(None if advantages.any_size else advantages.group_size)
    rewards = subject.rng(CHECK.id).normal(size=len(policy.completions))
    found_advantages = advantages(rewards, len(rewards))
    descent = _descent(subject, loss, policy, found_advantages)
    if descent is None:
        return not_checkable("the log-probs of a batch have another shape than asked for: told at V302")
    gradient = exact(policy.completions, rewards, policy.vocabulary)
    size = np.sqrt((descent**2).sum() * (gradient**2).sum())
    cosine = float((descent * gradient).sum() / size) if np.isfinite(size) and size > 0 else 0.0
    if cosine >= ALIGNED:
        return passed(f"cosine {cosine:.4f}")
    return failed(
        "loss",
        f"The descent direction has cosine {cosine:.3f} with the exact policy gradient.",
        expected=shown(gradient),
        got=shown(descent),
        example={"ids": policy.completions, "rewards": rewards, "advantages": found_advantages},
        fingerprint="ascends instead of descending" if cosine <= -ALIGNED else "",
    )


def _descent(
    subject: Subject, loss: PolicyLoss, policy: TinyPolicy, advantages: FloatArray
) -> FloatArray | None:  # fmt: skip
    """Minus the gradient [T,V] of the loss by the policy's logits, which all rows share; None if shapes do not fit."""
    function = subject.function("logprobs")
    inputs, logprobs = policy.scored(function)
    if inputs is None or logprobs is None:
        return None
    jacobian = function.gradient("logits", component=None, **inputs)[:, : policy.tokens]
    values: dict[str, object] = {
        "logprobs": logprobs, "old_logprobs": logprobs.copy(), "ref_logprobs": logprobs.copy(),
        "advantages": advantages, "mask": np.ones(logprobs.shape, dtype=bool),
    }  # fmt: skip
    return -np.asarray((loss.slope(values)[:, :, None] * jacobian).sum(axis=0))
