"""Rows do not mix in the value loss: their order plays no part, and each token is weighted alike or as its row."""

import numpy as np

from rlprobe.verifier.measure.loss_inputs import reordered
from rlprobe.verifier.measure.loss_value import near, value_loss
from rlprobe.verifier.outcome import Check, Outcome, failed, passed
from rlprobe.verifier.subject import Subject, shown

ORDER = [2, 0, 3, 1]
EXACT = 1e-3
CHECK = Check(
    id="V446",
    title="rows do not mix in the value loss",
    formula="loss(rows[p]) = loss(rows)",
    stage="loss",
    category="grouping and order",
    needs=("value_loss",),
    fix="Compare each value with the return and old value of its own row; average once.",
    causes=("VALUE_DIVERGENCE",),
)


def run(subject: Subject) -> Outcome:
    """Slope after a reordering, after doubling, and while another row changes."""
    loss = value_loss(subject)
    values = near(subject.rng(CHECK.id))
    slope = loss.slope(values)
    other = reordered(values, ORDER)
    if not loss.close(slope[ORDER], loss.slope(other)):
        return failed(
            "value_loss",
            "The same rows in another order get other gradients.",
            expected=shown(slope[ORDER]),
            got=shown(loss.slope(other)),
            example=loss.arguments(other),
        )
    moved = {role: np.array(value) for role, value in values.items()}
    for role in ("values", "old_values", "returns"):
        moved[role][0] += 1.0
    moved["returns"][0] += 0.4
    if not loss.close(slope[1:], loss.slope(dict(moved))[1:]):
        return failed(
            "value_loss",
            "Changing the first row changes the gradient of the others.",
            expected=shown(slope[1:]),
            got=shown(loss.slope(dict(moved))[1:]),
            example=loss.arguments(moved),
        )
    twice = reordered(values, [*range(4), *range(4)])
    total = float(np.abs(slope).sum())
    quotient = float(np.abs(loss.slope(twice)).sum()) / total if total else 1.0
    if not any(abs(quotient - whole) <= EXACT for whole in (1.0, 2.0)):
        return failed(
            "value_loss",
            f"With every row twice the pull is {quotient:.4g} times as large.",
            expected="1 or 2",
            got=f"{quotient:.4g}",
            example=loss.arguments(twice),
        )
    return passed()
