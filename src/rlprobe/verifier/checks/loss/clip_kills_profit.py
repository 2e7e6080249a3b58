"""Clipping stops the gradient where it would carry the ratio further out, never where it would bring it back."""

import numpy as np

from rlprobe.verifier.measure.loss import policy_loss
from rlprobe.verifier.measure.loss_clip import ClipCurve, clip_curve, planted
from rlprobe.verifier.outcome import Check, Outcome, failed, not_checkable, passed
from rlprobe.verifier.subject import Subject, shown

TWO_SIDED = ("ppo", "grpo", "dapo", "dr_grpo", "gspo")  # clip both sides where they clip at all
HIGHER_ABOVE = ("dapo", "gspo")  # papers that give the upper side the wider range
ROUND = 1e-4  # relative; accuracy of the bisection
JUMP = 0.1  # relative; no rounding comes near it
SOFT = 0.5  # of the ratio at the end of the reach
CHECK = Check(
    id="V411",
    title="clipping stops profit alone and keeps the way back",
    formula="gradient 0 where A > 0, ρ > 1 + ε and where A < 0, ρ < 1 - ε; not 0 elsewhere",
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
    jump = _jump(curve)
    if jump:
        told = f"At ratio {jump[0]:.4g}, advantage {jump[1]:+g}, a token weighs {jump[2]:.3g} times its ratio."
        return told, "the clipped term has another gradient or value", float(np.log(jump[0])), jump[1]
    if subject.declared.text("algorithm") in TWO_SIDED:
        return _of_two_sided(subject, curve)
    return "", "", 0.0, 0.0


def _of_two_sided(subject: Subject, curve: ClipCurve) -> tuple[str, str, float, float]:
    """The same for an algorithm whose paper clips both sides of the ratio."""
    if curve.high is None and curve.low is None:
        on_policy = subject.declared.number("inner_steps") == 1
        if curve.flat or on_policy or curve.cap is not None or _soft(curve):
            return "", "", 0.0, 0.0
        return "The ratio is never clipped.", "never clipped", 2.0, 1.0
    if curve.high is None or curve.low is None:
        side, log_ratio, sign = ("upper", 2.0, 1.0) if curve.high is None else ("lower", -2.0, -1.0)
        return f"There is no {side} edge while there is one on the other side.", "clipped on one side", log_ratio, sign
    low, high = 1 - curve.low, curve.high - 1
    if subject.declared.text("algorithm") in HIGHER_ABOVE and low > high * (1 + ROUND):
        told = f"The ratio may fall by {low:.4g} and rise by {high:.4g} only; this algorithm clips higher above."
        return told, "low and high exchanged", -1.0, -1.0
    undeclared = subject.declared.clip() == (None, None)  # declared edges are compared at V412
    if undeclared and low > high * (1 + JUMP) and abs(curve.low - high) <= ROUND * high:
        told = f"The ratio may rise by {high:.4g} and fall by {low:.4g}, down to {curve.low:.4g} itself."
        return told, "lower bound is epsilon itself", -1.0, -1.0
    logs = -float(np.log(curve.low)), float(np.log(curve.high))
    if all(_round(one) for one in logs) and not any(_round(one) for one in (low, high)):
        told = f"The ratio is clipped to exp of [{-logs[0]:.4g}, {logs[1]:.4g}]: its logarithm is clamped."
        return told, "clamp of the logarithm", 1.0, 1.0
    return "", "", 0.0, 0.0


def _jump(curve: ClipCurve) -> tuple[float, float, float] | None:
    """Ratio, advantage and weight over the ratio where the way back of a clipped loss weighs anything but the ratio."""
    if curve.high is None or curve.low is None:
        return None
    below, above = curve.ratios < 1, curve.ratios > 1
    if curve.dual is not None:
        above &= curve.ratios < curve.dual
    for side, weights, sign in ((below, curve.positive, 1.0), (above, curve.negative, -1.0)):
        shares = weights[side] / curve.ratios[side]
        if len(shares) and np.abs(shares - 1).max() > JUMP:
            worst = int(np.abs(shares - 1).argmax())
            return float(curve.ratios[side][worst]), sign, float(shares[worst])
    return None


def _soft(curve: ClipCurve) -> bool:
    """Whether the weight fades out instead of following the ratio to the end (a soft gate)."""
    return float(curve.positive[-1]) < SOFT * float(curve.ratios[-1])


def _round(number: float) -> bool:
    """Whether somebody would write the number: two significant digits at most."""
    return abs(number - float(f"{number:.2g}")) <= ROUND * number
