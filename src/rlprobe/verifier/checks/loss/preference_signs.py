"""A preference loss falls as the chosen log-prob rises and as the rejected one falls, in every pair."""

from rlprobe.verifier.measure.loss_preference import PAIR, pairs, preference
from rlprobe.verifier.outcome import Check, Outcome, failed, passed
from rlprobe.verifier.shrink import shrink
from rlprobe.verifier.subject import Subject, shown

OTHERWISE = ("apo_down", "nca_pair", "sppo_hard")  # lower the chosen side too, or by design pull it to a target
CHECK = Check(
    id="V431",
    title="chosen is raised and rejected is lowered",
    formula="∂loss / ∂ log p(chosen) < 0 < ∂loss / ∂ log p(rejected)",
    stage="loss",
    category="log-space signs",
    needs=("dpo_loss",),
    fix="margin = (chosen - its reference) - (rejected - its reference); the loss falls as the margin rises.",
    causes=("PREFERENCE_COLLAPSE", "LIKELIHOOD_DISPLACEMENT"),
)


def run(subject: Subject) -> Outcome:
    """Slopes by both sides at margins near zero, where every known loss still pulls."""
    loss = preference(subject)
    values = pairs(subject.rng(CHECK.id), spread=0.05)
    if subject.declared.text("dpo_loss_type") in OTHERWISE:
        return passed("the declared loss moves the chosen side by a target of its own")
    for role, sign, wish in ((PAIR[0], -1.0, "fall as chosen rises"), (PAIR[1], 1.0, "rise as rejected rises")):

        def wrong(v: dict[str, object], role: str = role, sign: float = sign) -> bool:
            return bool((sign * loss.slope(v, role) <= loss.slopes.floor).any())

        if wrong(values):
            small = shrink(values, "dpo_loss", wrong)
            slope = loss.slope(small, role)
            mark = "no gradient" if not slope.any() else "sign flipped" if (sign * slope < 0).all() else ""
            return failed(
                "dpo_loss",
                f"The loss does not {wish} (slope {slope[0]:.4g}).",
                got=shown(slope),
                expected="< 0" if sign < 0 else "> 0",
                example=loss.arguments(small),
                fingerprint=mark,
            )
    return passed()
