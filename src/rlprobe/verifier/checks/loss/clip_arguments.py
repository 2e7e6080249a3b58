"""Clip ranges that the loss takes as arguments are the ones that it clips with, each on its own side."""

from rlprobe.verifier.measure.loss import policy_loss
from rlprobe.verifier.measure.loss_clip import clip_curve, measured
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, not_checkable, passed
from rlprobe.verifier.subject import Subject

LOW, HIGH = 0.15, 0.35  # unequal, so that exchanged sides show
EXACT = 1e-2  # of the range
CHECK = Check(
    id="V441",
    title="clip arguments are honoured, each on its own side",
    formula="edges move with the argument of their own side",
    stage="loss",
    category="constants",
    needs=("loss",),
    fix="Use the argument in the clamp, the lower range below 1 and the upper above; no literal, no other setting.",
    causes=("CLIP_SATURATION", "NO_LEARNING"),
)


def run(subject: Subject) -> Outcome:
    """Edges after other ranges were handed over."""
    loss = policy_loss(subject)
    taken = [role for role in ("clip", "clip_low", "clip_high") if loss.takes(role)]
    if not taken:
        return not_applicable("the loss takes no clip range as an argument")
    if not clip_curve(subject).alive:
        return not_checkable("ratio 1 gives no gradient: told at V402")
    settings: dict[str, object] = {"clip": LOW, "clip_low": LOW, "clip_high": HIGH}
    settings = {role: settings[role] for role in taken}
    curve = measured(loss, settings)
    high = HIGH if "clip_high" in taken else LOW
    found = {"lower": (curve.low, 1 - LOW), "upper": (curve.cap or curve.high, 1 + high)}
    if curve.cap is not None or ("clip_low" not in taken and "clip" not in taken):
        del found["lower"]
    if "clip_high" not in taken and "clip" not in taken:
        del found["upper"]
    for side, (edge, expected) in found.items():
        if edge is None or abs(edge - expected) > EXACT * LOW + loss.slopes.blur:
            given = ", ".join(f"{role} {value}" for role, value in settings.items())
            return failed(
                "loss",
                f"With {given}, the {side} edge lies at ratio {'none' if edge is None else format(edge, '.6g')}.",
                expected=f"{expected:.6g}",
                got="none" if edge is None else f"{edge:.6g}",
                fingerprint=_mark(curve.low, curve.high),
            )
    return passed(f"edges follow {', '.join(taken)}")


def _mark(low: float | None, high: float | None) -> str:
    if low is None and high is None:
        return "never clipped"
    exchanged = low is not None and high is not None and abs(1 - low - HIGH) < 1e-3 and abs(high - 1 - LOW) < 1e-3
    return "low and high exchanged" if exchanged else ""
