"""Every token that the mask lets through is pushed by the advantage: the first, the last, those beside a hole."""

import numpy as np

from rlprobe.recording.run import BoolArray
from rlprobe.verifier.measure.loss import PolicyLoss, on_policy, policy_loss
from rlprobe.verifier.measure.loss_inputs import with_hole
from rlprobe.verifier.outcome import Check, Outcome, failed, passed
from rlprobe.verifier.shrink import shrink
from rlprobe.verifier.subject import Subject, shown

CHECK = Check(
    id="V437",
    title="every unmasked token gets gradient",
    formula="mask_t = 1, A ≠ 0  =>  ∂loss / ∂ log p_t ≠ 0",
    stage="loss",
    category="masks and alignment",
    needs=("loss",),
    fix="Use the mask of the same positions as the log-probs: no shift, no dropped token or row.",
    causes=("NO_EOS", "NO_LEARNING"),
)


def run(subject: Subject) -> Outcome:
    """On-policy weights at unmasked positions, without and with a hole in the mask."""
    loss = policy_loss(subject)
    plain = on_policy(subject, CHECK.id)
    for values in (plain, with_hole(plain)):
        if not _silent(loss, values).any():
            continue
        small = shrink(values, "loss", lambda v: bool(_silent(loss, v).any()), keep="BT")
        silent = _silent(loss, small)
        rows, positions = np.nonzero(silent)
        return failed(
            "loss",
            f"{int(silent.sum())} of {int(np.asarray(small['mask']).sum())} unmasked tokens get no gradient, "
            f"the first at row {rows[0]}, position {positions[0]}.",
            expected="a gradient wherever the mask is 1",
            got=shown(loss.policy_slope(small)),
            example=loss.arguments(small),
            fingerprint=_mark(silent, np.asarray(small["mask"], dtype=bool)),
        )
    return passed()


def _silent(loss: PolicyLoss, values: dict[str, object]) -> BoolArray:
    """[B,T] true where an unmasked token has no policy slope."""
    mask = np.asarray(values["mask"], dtype=bool)
    slope = np.abs(loss.policy_slope(values))
    return np.asarray(mask & ~(slope > loss.slopes.floor + loss.tolerance * float(slope.max(initial=0.0))))


def _mark(silent: BoolArray, mask: BoolArray) -> str:
    if (silent == mask).all():
        return "no token gets gradient"
    if silent[:, 0].all() and not silent[:, 1:].any():
        return "first token dropped"
    last = mask & (np.cumsum(mask, axis=1) == mask.sum(axis=1, keepdims=True))
    if (silent == last).all():
        return "last token dropped"
    return "rows dropped" if (silent == (mask & silent.any(axis=1, keepdims=True))).all() else ""
