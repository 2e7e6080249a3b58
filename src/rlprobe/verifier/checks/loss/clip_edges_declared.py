"""The gradient dies at the ratios that were declared: 1 - clip_low for A < 0 and 1 + clip_high for A > 0."""

import numpy as np

from rlprobe.verifier.measure.loss import policy_loss
from rlprobe.verifier.measure.loss_clip import ClipCurve, clip_curve, planted
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, not_checkable, passed, warned
from rlprobe.verifier.subject import Subject

EXACT = 1e-2  # of the clip range: 0.2 must not be 0.203
CHECK = Check(
    id="V412",
    title="clip edges lie where they were declared",
    formula="edges at 1 - clip_low and 1 + clip_high",
    stage="loss",
    category="constants",
    needs=("loss",),
    fix="Clamp the ratio (not its logarithm) to [1 - low, 1 + high]; leave the minimum and the advantages as they are.",
    causes=("CLIP_SATURATION", "NO_LEARNING", "ENTROPY_COLLAPSE"),
)


def run(subject: Subject) -> Outcome:
    """Edges found by bisection against the declared ones."""
    low, high = subject.declared.clip()
    curve = clip_curve(subject)
    if low is None and high is None:
        return not_applicable(f"no clip range was declared; measured: {curve.told}")
    if not curve.alive:
        return not_checkable("ratio 1 gives no gradient: told at V402")
    if curve.flat and subject.declared.number("inner_steps") == 1:
        return warned("loss", "A clip range was declared and the loss knows no ratio; harmless at one inner step.")
    sides = [("lower", curve.low, low, -1), ("upper", curve.cap or curve.high, high, 1)]
    if curve.cap is not None:
        sides = sides[1:]
    blur = policy_loss(subject).slopes.blur
    wrong = [side for side in sides if side[2] is not None and not _meets(side[1], side[2], side[3], curve, blur)]
    if not wrong:
        return passed(f"gradient lives at ratios {curve.told}")
    name, edge, declared, sign = wrong[0]
    assert declared is not None  # filtered above
    return failed(
        "loss",
        f"The {name} edge lies at ratio {_told(edge)}; declared is {1 + sign * declared:.6g}.",
        expected=f"{1 + sign * declared:.6g}",
        got=_told(edge),
        example=policy_loss(subject).arguments(
            planted(np.log([max(1 + sign * declared * 1.1, 0.01)]), np.array([float(sign)]))
        ),
        fingerprint=_mark(curve, low, high),
    )


def _meets(edge: float | None, clip: float, sign: int, curve: ClipCurve, blur: float) -> bool:
    if edge is None:
        return clip >= 1 and sign < 0  # a lower range of 1 and more leaves every ratio alone
    expected = [1 + sign * clip] + ([clip] if curve.cap is not None and clip >= 1 else [])
    return any(abs(edge - one) <= EXACT * clip + blur for one in expected)


def _mark(curve: ClipCurve, low: float | None, high: float | None) -> str:
    if curve.flat or not curve.clipped:
        return "never clipped"
    if low is None or high is None or curve.low is None or curve.high is None:
        return ""
    found = np.array([1 - curve.low, curve.high - 1])
    for name, expected in (
        ("low and high exchanged", (high, low)),
        ("one range for both sides", (low, low)),
        ("clamp of the logarithm", (1 - np.exp(-low), np.exp(high) - 1)),
        ("lower bound is epsilon itself", (1 - low, high)),
    ):
        if np.allclose(found, expected, rtol=EXACT):
            return name
    return ""


def _told(edge: float | None) -> str:
    return "none" if edge is None else f"{edge:.6g}"
