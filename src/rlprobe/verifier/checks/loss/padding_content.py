"""What stands at masked positions plays no part: other finite numbers there change neither the loss nor its slope."""

import numpy as np

from rlprobe.verifier.measure.loss import PolicyLoss, off_policy, policy_loss, unmasked
from rlprobe.verifier.measure.loss_inputs import JUNK, with_hole, with_junk
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, passed
from rlprobe.verifier.shrink import shrink
from rlprobe.verifier.subject import Subject, shown

CHECK = Check(
    id="V404",
    title="the content of masked positions plays no part",
    formula="loss(junk where mask = 0) = loss",
    stage="loss",
    category="masks and alignment",
    needs=("loss",),
    fix="Mask before every sum, mean and ratio over tokens, in numerator and denominator.",
    causes=("KL_BLOWUP", "CLIP_SATURATION"),
)


def run(subject: Subject) -> Outcome:
    """Value and slope with other numbers at masked positions of one argument after the other."""
    loss = policy_loss(subject)
    if unmasked(subject):
        return not_applicable("the loss takes no mask")
    plain = with_hole(off_policy(subject, CHECK.id))
    full = {**_by_token(loss, plain), **{k: v for k, v in loss.arguments(plain).items() if k in JUNK}}
    for flip in (False, True):
        for role in (role for role in (*JUNK, "advantages") if role in full and loss.takes(role)):
            if not _moves(loss, full, role, flip=flip):
                continue
            small = shrink(full, "loss", lambda v, r=role, f=flip: _moves(loss, v, r, flip=f))  # type: ignore[misc]  # defaults bind the loop's values
            other = _junk(small, role, flip=flip)
            return failed(
                "loss",
                f"Other numbers at masked positions of {role} change the loss.",
                expected=shown(loss.value(small)),
                got=shown(loss.value(other)),
                example=loss.arguments(other),
                fingerprint=f"{role} not masked",
            )
    return passed()


def _by_token(loss: PolicyLoss, values: dict[str, object]) -> dict[str, object]:
    """The input with an advantage for every token where the loss wants that."""
    if not loss.function.by_token:
        return values
    return {**values, "advantages": np.repeat(np.asarray(values["advantages"])[:, None], 6, axis=1)}


def _junk(values: dict[str, object], role: str, *, flip: bool) -> dict[str, object]:
    mask = np.asarray(values["mask"], dtype=bool)
    if role == "advantages":
        advantages = np.array(values["advantages"])
        if advantages.ndim == 2:
            advantages[~mask] = -4.0 if flip else 3.0
        return {**values, "advantages": advantages}
    return {**values, role: with_junk(values, flip=flip)[role]}


def _moves(loss: PolicyLoss, values: dict[str, object], role: str, *, flip: bool) -> bool:
    other = _junk(values, role, flip=flip)
    before, after = loss.value(values), loss.value(other)
    mask = np.asarray(values["mask"], dtype=bool)
    moved = not abs(before - after) <= 1e-9 + 10 * loss.tolerance * max(abs(before), 0.1)
    slopes = [np.where(mask, loss.slope(one), 0.0) for one in (values, other)]
    return moved or not loss.close(slopes[0], slopes[1], slack=10)
