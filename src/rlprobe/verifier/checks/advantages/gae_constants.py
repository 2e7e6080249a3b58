"""Discount and lambda lie between 0 and 1 and are those that are declared."""

from rlprobe.verifier.measure.advantages_temporal import measured
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, passed
from rlprobe.verifier.subject import Subject

TOLERANCE = 1e-3
CHECK = Check(
    id="V231",
    title="discount and lambda are the declared ones",
    formula="γ = declared γ, λ = declared λ",
    stage="advantages",
    category="configuration",
    needs=("gae",),
    fix="Take gamma and lambda from the settings.",
    causes=("VALUE_DIVERGENCE", "CONFIG_MISUSE"),
)


def run(subject: Subject) -> Outcome:
    """Constants inside the function, measured by impulses."""
    gae = measured(subject)
    fixed = {"gamma": gae.gamma, "lam": gae.lam}
    if all(value is None for value in fixed.values()):
        return not_applicable("both are handed over in the call")
    for name, found in fixed.items():
        if found is None:
            continue
        subject.measured[f"GAE {name}"] = round(found, 4)
        wanted = subject.declared.number(name)
        outside = not -TOLERANCE <= found <= 1.0 + TOLERANCE
        if outside or (wanted is not None and abs(found - wanted) > TOLERANCE):
            return failed(
                "gae",
                f"The measured {name} is {found:.4g}.",
                expected=f"{wanted:g} as declared" if wanted is not None else "between 0 and 1",
                got=f"{found:.4g}",
            )
    return passed()
