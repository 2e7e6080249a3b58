"""The gradient is clipped to a norm that lets it through."""

from rlprobe.verifier.measure.settings import settings
from rlprobe.verifier.outcome import Check, Outcome, failed, not_checkable, passed, warned
from rlprobe.verifier.subject import Subject

TINY, LARGE = 1e-3, 100.0
CHECK = Check(
    id="V716",
    title="the gradient clip lets gradients through",
    formula="0 < gradient clip, 0.1 to 10",
    stage="configuration",
    category="configuration",
    needs=(),
    fix="Set max_grad_norm to 1.0; 0.1 to 1 are usual.",
    causes=("GRAD_PATHOLOGY", "NO_LEARNING"),
)


def run(subject: Subject) -> Outcome:
    """The norm against its sign and usual size."""
    given = settings(subject)
    norm = given.number("max_grad_norm")
    if norm is None:
        return not_checkable("no gradient clip is set", missing=("config.max_grad_norm",))
    name = given.named("max_grad_norm")
    if norm < 0:
        return failed(
            "config",
            f"{name} is {norm:g}: a norm is not negative.",
            expected="above 0",
            got=f"{norm:g}",
            example=given.example("max_grad_norm"),
        )
    if norm < TINY or norm > LARGE:
        return warned(
            "config",
            f"{name} is {norm:g}: {'nothing is clipped' if norm == 0 or norm > LARGE else 'every gradient is cut'}.",
            expected="0.1 to 10",
            got=f"{norm:g}",
            example=given.example("max_grad_norm"),
        )
    return passed(f"{name} {norm:g}")
