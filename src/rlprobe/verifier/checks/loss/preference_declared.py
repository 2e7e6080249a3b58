"""The preference loss is the declared one, with the declared beta and label smoothing; log 2 where all agree."""

from rlprobe.verifier.measure.loss_preference import MARGINS, at_margin, curve, preference
from rlprobe.verifier.outcome import Check, Outcome, failed, passed, warned
from rlprobe.verifier.subject import Subject, shown

# Names of trainers and algorithms for the same losses.
TYPES = {
    "sigmoid": "sigmoid",
    "dpo": "sigmoid",
    "robust": "sigmoid",
    "cdpo": "sigmoid",
    "hinge": "hinge",
    "slic": "hinge",
    "ipo": "ipo",
    "kto": "kto",
    "kto_pair": "kto",
}
AT_EQUALITY = {"sigmoid": "log 2 = 0.6931", "hinge": "1", "ipo": "1 / (2 beta)^2", "kto": "1/2"}
EXACT = 1e-2  # relative, for beta and label smoothing
CHECK = Check(
    id="V435",
    title="the preference loss is the declared one",
    formula="loss = -log σ(β · (Δ_chosen - Δ_rejected)), or as declared",
    stage="loss",
    category="constants",
    needs=("dpo_loss",),
    fix="Use the formula of the declared loss: -log sigmoid(beta m), max(0, 1 - beta m), (m - 1 / (2 beta))^2.",
    causes=("PREFERENCE_COLLAPSE", "NO_LEARNING"),
)


def run(subject: Subject) -> Outcome:
    """The curve over the margin against the known losses, then beta and smoothing read off it."""
    loss, found = preference(subject), curve(subject)
    said = subject.declared.text("dpo_loss_type") or subject.declared.text("algorithm")
    declared = TYPES.get(said, "")
    example = loss.arguments(at_margin(0.0))
    if not found.name:
        verdict = failed if declared else warned
        return verdict(
            "dpo_loss",
            f"The loss over the margin is that of no known preference loss; {found.values[3]:.4g} at margin 0.",
            expected=f"{AT_EQUALITY.get(declared, 'log 2')} at margin 0",
            got=f"{shown(found.values, 7)} at {shown(MARGINS, 7)}",
            example=example,
        )
    if declared and found.name != declared:
        return failed(
            "dpo_loss",
            f"The loss is {found.told}; declared is {said}.",
            expected=said,
            got=found.told,
            example=example,
            fingerprint=found.name,
        )
    return _constants(subject, example) or passed(found.told)


def _constants(subject: Subject, example: dict[str, object]) -> Outcome | None:
    found = curve(subject)
    beta = subject.declared.number("dpo_beta")
    if beta and abs(found.beta - beta) > EXACT * beta:
        marks = {"beta left out": 1.0, "beta squared": beta**2, "half of beta": beta / 2, "twice beta": 2 * beta}
        mark = next((name for name, one in marks.items() if abs(found.beta - one) <= EXACT * one), "")
        return failed(
            "dpo_loss",
            f"Beta is {found.beta:.4g}; declared is {beta:g}.",
            expected=f"{beta:g}",
            got=f"{found.beta:.4g}",
            example=example,
            fingerprint=mark,
        )
    smoothing = subject.declared.number("label_smoothing")
    robust = subject.declared.text("dpo_loss_type") == "robust"
    if found.name == "sigmoid" and not robust and abs(found.smoothing - (smoothing or 0.0)) > EXACT:
        if smoothing is None and found.smoothing < 0.5:
            return None  # a convention of the code that nobody declared
        mark = "smoothing exchanged" if smoothing and abs(found.smoothing - 1 + smoothing) <= EXACT else ""
        return failed(
            "dpo_loss",
            f"Label smoothing is {found.smoothing:.4g}; declared is {smoothing or 0:g}.",
            expected=f"{smoothing or 0:g}",
            got=f"{found.smoothing:.4g}",
            example=example,
            fingerprint=mark,
        )
    return None
