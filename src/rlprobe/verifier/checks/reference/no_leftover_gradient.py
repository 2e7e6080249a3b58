"""A step uses the gradients of its own batch: what an earlier step left behind is cleared."""

from rlprobe.verifier.measure.stepping import batch, step, trace
from rlprobe.verifier.outcome import Check, Outcome, failed, passed
from rlprobe.verifier.subject import Subject

SAME = 1e-5  # of the change that the step makes; threads may add in another order
CHECK = Check(
    id="V615",
    title="gradients do not pile up over steps",
    formula="∇ at step k hangs on the batch of step k alone",
    stage="reference",
    category="gradient breakage",
    needs=("model", "train_step"),
    fix="Call optimizer.zero_grad() once an update, before backward or after step.",
    causes=("GRAD_PATHOLOGY", "KL_BLOWUP"),
)


def run(subject: Subject) -> Outcome:
    """The same step from the same weights, clean and after another step whose gradients were left as they lay."""
    first = trace(subject)
    second = step(subject, batch(subject), warm=True)
    apart = sum(float((second.after[name] - value).abs().sum()) for name, value in first.after.items())
    size = sum(float((value - first.before[name]).abs().sum()) for name, value in first.after.items())
    if size > 0 and apart > SAME * size:
        return failed(
            "train_step",
            f"After an earlier step, the same step from the same weights makes a change that differs by"
            f" {apart / size:.3g} of its size.",
            expected="the same change",
            got="another one",
            fingerprint="gradients are not cleared",
        )
    return passed()
