"""Only the difference to the reference counts: adding the same to a side and to its reference changes nothing."""

import numpy as np

from rlprobe.verifier.measure.loss_preference import PAIR, Preference, pairs, preference
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, passed
from rlprobe.verifier.shrink import shrink
from rlprobe.verifier.subject import Subject

CHECK = Check(
    id="V432",
    title="only the difference to the reference counts",
    formula="loss(log p + c, log q + c) = loss(log p, log q)",
    stage="loss",
    category="log-space signs",
    needs=("dpo_loss",),
    fix="Subtract from each side its own reference, once.",
    causes=("PREFERENCE_COLLAPSE", "REFERENCE_MISMATCH"),
)


def run(subject: Subject) -> Outcome:
    """The loss before and after a shift of a side together with its reference."""
    loss = preference(subject)
    if not loss.referenced():
        return not_applicable("the loss takes no reference")
    values = pairs(subject.rng(CHECK.id), rows=4)
    for side, reference in ((PAIR[0], PAIR[2]), (PAIR[1], PAIR[3])):
        if not _moves(loss, values, side, reference):
            continue
        small = shrink(values, "dpo_loss", lambda v, s=side, r=reference: _moves(loss, v, s, r))  # type: ignore[misc]  # defaults bind the loop's values
        moved = _shifted(small, side, reference)
        return failed(
            "dpo_loss",
            f"Adding the same numbers to {side} and {reference} changes the loss.",
            expected=f"{loss.value(small):.6g}",
            got=f"{loss.value(moved):.6g}",
            example=loss.arguments(moved),
            fingerprint=_mark(loss, small, reference),
        )
    return passed()


def _shifted(values: dict[str, object], *roles: str) -> dict[str, object]:
    shift = 0.3 + 0.4 * np.arange(len(np.asarray(values[PAIR[0]])))
    return {**values, **{role: np.asarray(values[role]) + shift for role in roles}}


def _moves(loss: Preference, values: dict[str, object], side: str, reference: str) -> bool:
    before, after = loss.value(values), loss.value(_shifted(values, side, reference))
    return not abs(before - after) <= 1e-9 + 10 * loss.slopes.tolerance * max(abs(before), 1.0)


def _mark(loss: Preference, values: dict[str, object], reference: str) -> str:
    return "reference ignored" if loss.value(values) == loss.value(_shifted(values, reference)) else ""
