"""The beta that the preference loss takes as an argument scales the margin everywhere it stands."""

from rlprobe.verifier.measure.loss_preference import at_margin, curve_of, preference
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, not_checkable, passed
from rlprobe.verifier.subject import Subject

BETAS = (0.2, 0.7)
EXACT = 1e-2  # relative
CHECK = Check(
    id="V450",
    title="the beta argument scales the margin",
    formula="margin = β · (Δ_chosen - Δ_rejected), everywhere",
    stage="loss",
    category="constants",
    needs=("dpo_loss",),
    fix="Use the argument wherever beta stands in the formula, once.",
    causes=("PREFERENCE_COLLAPSE", "NO_LEARNING"),
)


def run(subject: Subject) -> Outcome:
    """Beta read off the curve for two values of the argument."""
    loss = preference(subject)
    if not loss.function.takes("dpo_beta"):
        return not_applicable("the loss takes no beta")
    for beta in BETAS:
        found = curve_of(loss, {"dpo_beta": beta})
        if not found.name:
            return not_checkable("the loss over the margin is that of no known preference loss: told at V435")
        if abs(found.beta - beta) > EXACT * beta:
            return failed(
                "dpo_loss",
                f"With beta {beta:g} the loss is {found.told}.",
                expected=f"{beta:g}",
                got=f"{found.beta:.4g}",
                example=loss.arguments({**at_margin(1.0), "dpo_beta": beta}),
            )
    return passed()
