"""Every row of the batch is in the step: another advantage of one row alone makes another step."""

from dataclasses import replace

from rlprobe.verifier.measure.stepping import batch, step, trace
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, not_checkable, passed
from rlprobe.verifier.subject import Subject

CHECK = Check(
    id="V622",
    title="every row of the batch is in the step",
    formula="∂step / ∂A_i ≠ 0 for every row i",
    stage="reference",
    category="grouping and order",
    needs=("model", "train_step"),
    fix="Clear the gradients once before the micro-batches, and index advantages and masks by the rows of each.",
    causes=("NO_LEARNING", "GROUPING_BUG"),
)


def run(subject: Subject) -> Outcome:
    """The step with the advantage of one row turned round, for each row."""
    if not subject.takes("train_step", "advantages"):
        return not_applicable("train_step takes no advantages")
    given, first = batch(subject), trace(subject)
    idle = []
    for row in range(len(given.advantages)):
        turned = given.advantages.copy()
        turned[row] *= -1.0
        other = step(subject, replace(given, advantages=turned))
        if all(value.equal(other.after[name]) for name, value in first.after.items()):
            idle.append(row)
    if len(idle) == len(given.advantages):
        return not_checkable("no advantage changes the step: told at V614")
    if idle:
        return failed(
            "train_step",
            f"The step is the same, bit for bit, whatever the advantage of row {', '.join(map(str, idle))}"
            f" of {len(given.advantages)}.",
            expected="another step",
            got="the same weights",
            example={"ids": given.ids, "advantages": given.advantages},
            fingerprint="one micro-batch wipes the gradients of another, or its advantages are those of others",
        )
    return passed()
