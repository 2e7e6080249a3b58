"""Values are clipped at the declared distance from their old values."""

from rlprobe.verifier.measure.loss_value import ValueClip, value_clip, value_loss
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, passed
from rlprobe.verifier.subject import Subject

ARGUMENT = 0.37
EXACT = 1e-2  # relative
CHECK = Check(
    id="V451",
    title="values are clipped at the declared distance",
    formula="V_clipped = V_old + clip(V - V_old, ±c)",
    stage="loss",
    category="constants",
    needs=("value_loss",),
    fix="Clamp value - old value to the value clip range, then add the old value.",
    causes=("VALUE_DIVERGENCE",),
)


def run(subject: Subject) -> Outcome:
    """Edges by bisection with the pipeline's own settings, and with another argument where there is one."""
    loss = value_loss(subject)
    declared = subject.declared.number("value_clip")
    if declared:
        wrong = _off(value_clip(loss, {}), declared, loss.slopes.blur)
        if wrong:
            return failed(
                "value_loss",
                f"Values are clipped at {wrong}; declared is {declared:g}.",
                expected=f"{declared:g}",
                got=wrong,
            )
    if loss.takes_clip:
        wrong = _off(value_clip(loss, {"clip": ARGUMENT}), ARGUMENT, loss.slopes.blur)
        if wrong:
            return failed(
                "value_loss",
                f"With clip range {ARGUMENT:g} values are clipped at {wrong}.",
                got=wrong,
                expected=f"{ARGUMENT:g}",
            )
    elif not declared:
        return not_applicable("no value clip was declared")
    return passed()


def _off(clip: ValueClip, expected: float, blur: float) -> str:
    """Where the edges lie instead; "" where they are right."""
    edges = (clip.up, clip.down)
    if all(edge is not None and abs(edge - expected) <= EXACT * expected + blur for edge in edges):
        return ""
    return " and ".join(sorted({"no distance" if edge is None else f"{edge:.4g}" for edge in edges}))
