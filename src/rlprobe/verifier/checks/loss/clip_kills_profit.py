"""Clipping stops the gradient where it would carry the ratio further out, never where it would bring it back."""

import numpy as np

from rlprobe.verifier.measure.loss import policy_loss
from rlprobe.verifier.measure.loss_clip import ClipCurve, clip_curve, planted
from rlprobe.verifier.outcome import Check, Outcome, failed, not_checkable, passed
from rlprobe.verifier.subject import Subject, shown

TWO_SIDED = ("ppo", "grpo", "dapo", "dr_grpo", "gspo")  # clip both sides where they clip at all
LEAST_DUAL = 1.0  # a dual clip below ratio 1 would stop the gradient on policy
CHECK = Check(
    id="V411",
    title="clipping stops profit alone and keeps the way back",
    stage="loss",
    category="log-space signs",
    needs=("loss",),
    fix="Take the minimum of ratio * advantage and clipped ratio * advantage (the maximum of the negatives).",
    causes=("CLIP_SATURATION", "NO_LEARNING", "ENTROPY_COLLAPSE"),
)


def run(subject: Subject) -> Outcome:
    """On which side of ratio 1 the gradient of either sign of advantage dies."""
    curve = clip_curve(subject)
    if not curve.alive:
        return not_checkable("ratio 1 gives no gradient: told at V402")
    wrong, mark, log_ratio, sign = _fault(subject, curve)
    if not wrong:
        return passed(f"gradient lives at ratios {curve.told}")
    example = planted(np.array([log_ratio]), np.array([sign]))
    return failed(
        "loss",
        wrong,
        expected="A > 0 stops above an upper edge, A < 0 below a lower edge (or beyond a dual clip)",
        got=f"{shown(curve.positive[::4])}; {shown(curve.negative[::4])} at ratios {shown(curve.ratios[::4])}",
        example=policy_loss(subject).arguments(example),
        fingerprint=mark,
    )


def _fault(subject: Subject, curve: ClipCurve) -> tuple[str, str, float, float]:
    """What is wrong, its name, and the log-ratio and advantage that show it; "" where nothing is."""
    if curve.harmful_low is not None:
        mark = "maximum for minimum" if curve.high is None else "only the clipped term"
        return f"A positive advantage gives no gradient below ratio {curve.harmful_low:.4g}.", mark, -2.0, 1.0
    if curve.dual is not None and curve.low is None and curve.high is None:
        told = f"A negative advantage gives none above ratio {curve.dual:.4g}, all else does."
        return told, "maximum for minimum", 2.0, -1.0
    if curve.dual is not None and curve.high is not None and curve.dual <= curve.high * (1 + 1e-4):
        told = f"A negative advantage gives no gradient above ratio {curve.dual:.4g}."
        return told, "only the clipped term", 2.0, -1.0
    for sign, weights in ((1.0, curve.positive), (-1.0, curve.negative)):
        if (weights < -0.02).any():
            where = int(weights.argmin())
            told = f"The gradient turns round at ratio {curve.ratios[where]:.4g}, advantage {sign:+g}."
            return told, "", float(curve.ratios[where]), sign
    one_sided = (curve.high is None) != (curve.low is None)
    if one_sided and subject.declared.text("algorithm") in TWO_SIDED:
        side, log_ratio, sign = ("upper", 2.0, 1.0) if curve.high is None else ("lower", -2.0, -1.0)
        return f"There is no {side} edge while there is one on the other side.", "clipped on one side", log_ratio, sign
    return "", "", 0.0, 0.0
