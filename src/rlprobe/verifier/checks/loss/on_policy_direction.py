"""At ratio one the loss falls when the log-prob of a token with a positive advantage rises, and the reverse."""

import numpy as np

from rlprobe.recording.run import FloatArray
from rlprobe.verifier.measure.loss import PolicyLoss, on_policy, policy_loss
from rlprobe.verifier.outcome import Check, Outcome, failed, passed
from rlprobe.verifier.shrink import shrink
from rlprobe.verifier.subject import Subject, shown

CHECK = Check(
    id="V402",
    title="the loss pushes log-probs in the direction of the advantage",
    formula="sign(∂loss / ∂ log p_t) = -sign(A) at ρ = 1",
    stage="loss",
    category="log-space signs",
    needs=("loss",),
    fix="The loss is minus the mean of exp(log-prob - old log-prob) times advantage; mend that one sign.",
    causes=("NO_LEARNING", "REWARD_COLLAPSE", "LIKELIHOOD_DISPLACEMENT"),
)


def run(subject: Subject) -> Outcome:
    """Signs of the policy term's slope on a batch with both signs of advantage."""
    loss = policy_loss(subject)
    values = on_policy(subject, CHECK.id)
    if not _wrong(loss, values):
        return passed()
    small = shrink(values, "loss", lambda v: _wrong(loss, v), keep="T")
    pushes = _pushes(loss, small)
    signs = np.sign(pushes[np.asarray(small["mask"], dtype=bool)])
    mark = "sign flipped" if (signs < 0).all() else "no gradient" if not signs.any() else ""
    return failed(
        "loss",
        f"On policy, {int((signs <= 0).sum())} of {len(signs)} tokens are not pushed with their advantage.",
        expected="-slope / advantage > 0 at every token that counts",
        got=shown(pushes),
        example=loss.arguments(small),
        fingerprint=mark,
    )


def _pushes(loss: PolicyLoss, values: dict[str, object]) -> FloatArray:
    return loss.weights(values)


def _wrong(loss: PolicyLoss, values: dict[str, object]) -> bool:
    """Whether a whole row is pushed against its advantage or not at all."""
    mask = np.asarray(values["mask"], dtype=bool)
    pushes = np.where(mask, _pushes(loss, values), 0.0)
    if not np.isfinite(pushes).all():
        return True
    counted = mask.any(axis=1)
    return bool((pushes.sum(axis=1)[counted] <= loss.slopes.floor).any())
