"""KTO on pairs pulls each side by its own log-ratio against the other side's mean, floored at 0 and held fixed."""

import numpy as np

from rlprobe.recording.run import FloatArray
from rlprobe.verifier.measure.loss_preference import PAIR, curve, pairs, preference
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, passed
from rlprobe.verifier.subject import Subject, shown

EXACT = 1e-3  # relative
CHECK = Check(
    id="V459",
    title="KTO compares each side with the other side's mean",
    formula="loss_chosen = 1 - σ(β(Δ_chosen - max(0, mean Δ_rejected)))",
    stage="loss",
    category="gradient breakage",
    needs=("dpo_loss",),
    fix="Clamp the other side's mean log-ratio at 0 and detach it.",
    causes=("PREFERENCE_COLLAPSE",),
)


def run(subject: Subject) -> Outcome:
    """Slopes of pairs whose means are above 0, then below, against the paper's."""
    found = curve(subject)
    if found.name != "kto" or found.alone:
        return not_applicable("the loss is not KTO's")
    loss = preference(subject)
    scales: list[float] = []  # of the reduction; the same for both sides and all means
    for shift in (-0.5, 0.5):
        values = pairs(subject.rng(CHECK.id), spread=1.0)
        for role in PAIR[:2]:
            values[role] = np.asarray(values[role]) + shift
        for role, expected in zip(PAIR[:2], _expected(values, found.beta), strict=True):
            got = loss.slope(values, role)
            scales.append(float(np.abs(got).sum() / np.abs(expected).sum()))
            if not np.allclose(got, expected * scales[0], rtol=EXACT, atol=1e-7):
                return failed("dpo_loss", f"The pull on {role} is not that of its own log-ratio.", got=shown(got),
                              expected=shown(expected * scales[0]), example=loss.arguments(values))  # fmt: skip
    return passed()


def _expected(values: dict[str, object], beta: float) -> tuple[FloatArray, FloatArray]:
    """Slopes by both sides of 1 - sigmoid(beta * (own - other's mean)), the mean floored at 0 and held fixed."""
    chosen = np.asarray(values[PAIR[0]]) - np.asarray(values[PAIR[2]])
    rejected = np.asarray(values[PAIR[1]]) - np.asarray(values[PAIR[3]])
    up = beta * (chosen - max(float(rejected.mean()), 0.0))
    down = beta * (max(float(chosen.mean()), 0.0) - rejected)
    return -beta * _bell(up), beta * _bell(down)


def _bell(x: FloatArray) -> FloatArray:
    return np.asarray(1 / (2 + np.exp(x) + np.exp(-x)))
