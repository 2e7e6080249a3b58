"""Padding a batch to a greater width changes no token's weight, on whichever side the padding stands."""

import numpy as np

from rlprobe.recording.run import FloatArray
from rlprobe.verifier.measure.loss import PolicyLoss, off_policy, policy_loss, unmasked
from rlprobe.verifier.measure.loss_inputs import padded
from rlprobe.verifier.measure.loss_weights import aggregation
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, passed, warned
from rlprobe.verifier.shrink import shrink
from rlprobe.verifier.subject import Subject, shown

MORE = 3  # columns
CHECK = Check(
    id="V405",
    title="more padding columns change nothing",
    formula="loss(padded) = loss",
    stage="loss",
    category="masks and alignment",
    needs=("loss",),
    fix="Divide by the number of unmasked tokens (or by a fixed length), not by the width of the batch.",
    causes=("LENGTH_BIAS", "LENGTH_EXPLOSION"),
)


def run(subject: Subject) -> Outcome:
    """Slope with three more masked columns on the right, then on the left."""
    loss = policy_loss(subject)
    if unmasked(subject):
        return not_applicable("the loss takes no mask")
    values = off_policy(subject, CHECK.id)
    for right in (True, False):
        if not _moves(loss, values, right=right):
            continue
        small = shrink(values, "loss", lambda v, r=right: _moves(loss, v, right=r), keep="T")  # type: ignore[misc]  # the default binds the loop's value
        wide = _wide(small, right=right)
        width = np.asarray(small["mask"]).shape[1]
        before, after = loss.slope(small), _cut(loss.slope(wide), width, right=right)
        by_width = loss.close(before * width, after * (width + MORE), slack=10)
        told = {
            "expected": shown(before), "got": shown(after), "example": loss.arguments(wide),
            "fingerprint": "divided by the width of the batch" if by_width else "",
        }  # fmt: skip
        statement = f"{MORE} more masked columns change the gradient of the tokens that count."
        fixed = subject.declared.text("aggregation") == "constant" or subject.declared.text("algorithm") == "dr_grpo"
        if by_width and fixed and subject.declared.number("max_completion_tokens") is None:
            aggregation(subject)
            return warned("loss", statement + " That is a constant only if batches are always padded alike.", **told)  # type: ignore[arg-type]  # keywords by name
        return failed("loss", statement, **told)  # type: ignore[arg-type]  # keywords by name
    return passed()


def _wide(values: dict[str, object], *, right: bool) -> dict[str, object]:
    return padded(values, right=MORE) if right else padded(values, left=MORE)


def _cut(slope: FloatArray, width: int, *, right: bool) -> FloatArray:
    return slope[:, :width] if right else slope[:, -width:]


def _moves(loss: PolicyLoss, values: dict[str, object], *, right: bool) -> bool:
    width = np.asarray(values["mask"]).shape[1]
    wide = loss.slope(_wide(values, right=right))
    return not loss.close(loss.slope(values), _cut(wide, width, right=right), slack=10)
