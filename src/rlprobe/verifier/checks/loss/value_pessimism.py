"""The value clip takes the larger of both errors: it stops a value that runs to its return, never one that runs off."""

from rlprobe.verifier.measure.loss_value import value_clip, value_loss
from rlprobe.verifier.outcome import Check, Outcome, failed, not_checkable, passed
from rlprobe.verifier.subject import Subject

CHECK = Check(
    id="V434",
    title="the value clip is pessimistic",
    formula="loss = max((V - R)², (clip(V, V_old ± c) - R)²) / 2",
    stage="loss",
    category="log-space signs",
    needs=("value_loss",),
    fix="Take the maximum of the clipped and the unclipped squared error.",
    causes=("VALUE_DIVERGENCE",),
)


def run(subject: Subject) -> Outcome:
    """Where the gradient dies as a value leaves its old value, towards its return and away from it."""
    loss = value_loss(subject)
    clip = value_clip(loss, {})
    if not clip.alive:
        return not_checkable("no gradient at the old value: told at V444")
    if clip.harmful:
        both = clip.up is not None or clip.down is not None
        return failed(
            "value_loss", "A value that has run away from its return gets no gradient back.",
            expected="a gradient on the way back", got="none beyond the clip range",
            fingerprint="only the clipped error" if both else "minimum for maximum",
        )  # fmt: skip
    if (clip.up is None) != (clip.down is None):
        return failed("value_loss", f"Values are clipped on one side only (up {clip.up}, down {clip.down}).",
                      expected="both sides or none", got="one side")  # fmt: skip
    subject.measured["value clip"] = "none" if clip.up is None else round(clip.up, 6)
    return passed("no value clip" if clip.up is None else f"clipped {clip.up:.4g} from the old value")
