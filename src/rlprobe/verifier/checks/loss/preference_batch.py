"""Pairs do not mix: order plays no part, doubling changes no mean, a pair's pull depends on its own margin."""

import numpy as np

from rlprobe.verifier.measure.loss_inputs import reordered
from rlprobe.verifier.measure.loss_preference import PAIR, Preference, curve, margins, oracle, pairs, preference
from rlprobe.verifier.outcome import Check, Outcome, failed, passed
from rlprobe.verifier.subject import Subject, shown

ORDER = [3, 1, 4, 0, 2]
STEP = 1e-5  # nats, of the oracle's central difference
EXACT = 1e-3  # relative
BY_MARGIN = ("sigmoid", "hinge", "ipo")
CHECK = Check(
    id="V443",
    title="pairs do not mix",
    formula="loss(pairs) = mean of loss(pair)",
    stage="loss",
    category="grouping and order",
    needs=("dpo_loss",),
    fix="Keep chosen, rejected and both references of a pair in the same row; average over rows at the end.",
    causes=("PREFERENCE_COLLAPSE", "NO_LEARNING"),
)


def run(subject: Subject) -> Outcome:
    """Five pairs, reordered and doubled; the slope of each against that of its margin."""
    loss = preference(subject)
    values = pairs(subject.rng(CHECK.id))
    base = loss.value(values)
    slack = 1e-9 + 10 * loss.slopes.tolerance * max(abs(base), 1.0)
    other = reordered({**values, "mask": np.ones(5)}, ORDER)
    if not abs(loss.value(other) - base) <= slack:
        return failed(
            "dpo_loss",
            "The loss of the same pairs in another order differs.",
            expected=f"{base:.6g}",
            got=f"{loss.value(other):.6g}",
            example=loss.arguments(other),
        )
    twice = reordered({**values, "mask": np.ones(5)}, [*range(5), *range(5)])
    quotient = loss.value(twice) / base if base else 1.0
    if not any(abs(quotient - whole) <= EXACT for whole in (1.0, 2.0)):
        return failed(
            "dpo_loss",
            f"With every pair twice the loss is {quotient:.4g} times as large.",
            expected="1 or 2",
            got=f"{quotient:.4g}",
            example=loss.arguments(twice),
        )
    return _pulls(subject, loss, values)


def _pulls(subject: Subject, loss: Preference, values: dict[str, object]) -> Outcome:
    found = curve(subject)
    if found.name not in BY_MARGIN or found.scale != 1:
        return passed()
    of_margin = oracle(found.name, found.beta, found.smoothing)
    margin = margins(values)
    expected = (of_margin(margin + STEP) - of_margin(margin - STEP)) / (2 * STEP)
    if not (loss.by_row or found.summed):
        expected = expected / len(margin)
    for role, sign in ((PAIR[0], 1.0), (PAIR[1], -1.0)):
        got = loss.slope(values, role)
        if np.abs(got - sign * expected).max() > 1e-6 + EXACT * np.abs(expected).max():
            return failed(
                "dpo_loss",
                f"The pull on {role} is not that of the pair's own margin.",
                got=shown(got),
                expected=shown(sign * expected),
                example=loss.arguments(values),
            )
    return passed("summed over pairs" if found.summed else "")
