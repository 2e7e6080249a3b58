"""Label smoothing leaves the chosen answer the likelier one."""

from rlprobe.verifier.measure.settings import settings
from rlprobe.verifier.outcome import Check, Outcome, failed, not_checkable, passed
from rlprobe.verifier.subject import Subject

HALF = 0.5
CHECK = Check(
    id="V722",
    title="label smoothing is below one half",
    formula="0 <= label smoothing < 1/2",
    stage="configuration",
    category="configuration",
    needs=(),
    fix="Set the fraction of labels that are wrong, below 0.5.",
    causes=("PREFERENCE_COLLAPSE", "CONFIG_MISUSE"),
)


def run(subject: Subject) -> Outcome:
    """The fraction against one half."""
    given = settings(subject)
    value = given.number("label_smoothing")
    if value is None:
        return not_checkable("no label smoothing is set", missing=("config.label_smoothing",))
    if value < 0 or value >= HALF:
        return failed(
            "config",
            f"{given.named('label_smoothing')} is {value:g}: the rejected answer counts as much as the chosen one.",
            expected="0 to 0.5",
            got=f"{value:g}",
            example=given.example("label_smoothing"),
        )
    return passed()
