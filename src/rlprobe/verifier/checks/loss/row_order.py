"""The order of rows plays no part: reordering them leaves the loss alone and reorders its slope."""

import numpy as np

from rlprobe.verifier.measure.loss import off_policy, policy_loss
from rlprobe.verifier.measure.loss_inputs import reordered
from rlprobe.verifier.outcome import Check, Outcome, failed, passed
from rlprobe.verifier.subject import Subject, shown

ORDER = [2, 0, 3, 1]
CHECK = Check(
    id="V406",
    title="the order of rows plays no part",
    formula="loss(rows[p]) = loss(rows)",
    stage="loss",
    category="grouping and order",
    needs=("loss",),
    fix="Take advantages, mask and log-probs of the same row; nothing is rolled, flipped or indexed by position.",
    causes=("NO_LEARNING", "GROUPING_BUG"),
)


def run(subject: Subject) -> Outcome:
    """Value and slope before and after a reordering of four rows."""
    loss = policy_loss(subject)
    values = off_policy(subject, CHECK.id)
    other = reordered(values, ORDER)
    before, after = loss.value(values), loss.value(other)
    if not abs(before - after) <= 1e-9 + 10 * loss.tolerance * max(abs(before), 0.1):
        return failed("loss", "The loss of the same rows in another order differs.", expected=shown(before),
                      got=shown(after), example=loss.arguments(other))  # fmt: skip
    expected, got = loss.slope(values)[ORDER], loss.slope(other)
    if not loss.close(expected, got, slack=10):
        worst = int(np.abs(expected - got).max(axis=1).argmax())
        return failed("loss", f"Row {ORDER[worst]} gets another gradient at place {worst}.", got=shown(got[worst]),
                      expected=shown(expected[worst]), example=loss.arguments(other))  # fmt: skip
    return passed()
