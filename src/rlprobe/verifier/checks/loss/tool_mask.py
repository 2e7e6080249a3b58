"""A token that a tool wrote is left out of the loss, from the gradient and from every denominator."""

import numpy as np

from rlprobe.recording.run import FloatArray
from rlprobe.verifier.measure.loss import PolicyLoss, off_policy, policy_loss
from rlprobe.verifier.measure.loss_inputs import with_hole
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, passed
from rlprobe.verifier.subject import Subject, shown

CHECK = Check(
    id="V460",
    title="tokens of tools count like tokens that the mask leaves out",
    formula="∂loss(tool mask with a hole) = ∂loss(mask with the same hole)",
    stage="loss",
    category="masks and alignment",
    needs=("loss",),
    fix="Multiply the tool mask into the mask before the first sum, and divide by the sum of the product.",
    causes=("GIBBERISH", "NO_LEARNING"),
)


def run(subject: Subject) -> Outcome:
    """One token of a tool, marked in its own mask and in the plain mask; all of the slope is compared."""
    loss = policy_loss(subject)
    if not loss.takes("tool_mask") or not loss.takes("mask"):
        return not_applicable("the loss takes no mask of tools beside its own")
    plain = off_policy(subject, CHECK.id)
    hole = with_hole(plain)
    tools = {**plain, "tool_mask": _marked(loss, plain, hole)}
    subject.measured["tool mask"] = "1 marks tokens that count" if loss.tool_mark else "1 marks tokens of tools"
    found, wanted = loss.slope(tools), loss.slope(hole)
    if loss.close(found, wanted):
        return passed()
    gone = ~np.asarray(hole["mask"], dtype=bool) & np.asarray(plain["mask"], dtype=bool)
    leak = float(np.abs(found[gone]).max())
    told = f"gets a gradient of {leak:.4g}" if leak > loss.slopes.floor else "still counts in a denominator"
    return failed(
        "loss",
        f"A token that the tool mask leaves out {told}.",
        expected=shown(wanted),
        got=shown(found),
        example=loss.arguments(tools),
        fingerprint="tool mask ignored" if loss.close(found, loss.slope(plain)) else "",
    )


def _marked(loss: PolicyLoss, plain: dict[str, object], hole: dict[str, object]) -> FloatArray:
    """A tool mask [B,T] that marks the hole of the mask, in the loss's own sense."""
    tool = np.asarray(plain["mask"], dtype=bool) & ~np.asarray(hole["mask"], dtype=bool)
    return np.asarray(~tool if loss.tool_mark else tool)
