"""A row's gradient does not depend on the log-probs of other rows, whatever their ratios are."""

import numpy as np

from rlprobe.verifier.measure.loss import PolicyLoss, off_policy, policy_loss
from rlprobe.verifier.outcome import Check, Outcome, failed, passed
from rlprobe.verifier.shrink import shrink
from rlprobe.verifier.subject import Subject, shown

CHECK = Check(
    id="V438",
    title="a row's gradient does not depend on other rows",
    formula="∂loss / ∂ log p_i does not change with ρ_j, j another row",
    stage="loss",
    category="grouping and order",
    needs=("loss",),
    fix="Reduce over tokens (the last axis) for whatever belongs to a row; only the final mean is over rows.",
    causes=("GROUPING_BUG", "NO_LEARNING"),
)


def run(subject: Subject) -> Outcome:
    """Slope of the other rows while the first row's log-probs, ratio and advantage are changed."""
    loss = policy_loss(subject)
    values = off_policy(subject, CHECK.id)
    if not _spills(loss, values):
        return passed()
    small = shrink(values, "loss", lambda v: len(np.asarray(v["mask"])) > 1 and _spills(loss, v))
    other = _changed(small)
    return failed(
        "loss",
        "Changing the first row (not its length) changes the gradient of the others.",
        expected=shown(loss.slope(small)[1:]),
        got=shown(loss.slope(other)[1:]),
        example=loss.arguments(other),
    )


def _changed(values: dict[str, object]) -> dict[str, object]:
    found = {role: np.array(value) if isinstance(value, np.ndarray) else value for role, value in values.items()}
    for role, by in (("logprobs", -0.4), ("old_logprobs", -0.25), ("ref_logprobs", 0.2), ("advantages", 0.3)):
        array = np.array(found[role])
        array[0] += by * (np.sign(array[0]) if role == "advantages" else 1.0)
        found[role] = array
    return found


def _spills(loss: PolicyLoss, values: dict[str, object]) -> bool:
    return not loss.close(loss.slope(values)[1:], loss.slope(_changed(values))[1:], slack=10)
