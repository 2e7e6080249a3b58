"""The optimizer works at the learning rate that was asked for."""

from rlprobe.verifier.measure.settings import settings
from rlprobe.verifier.outcome import Check, Outcome, failed, not_checkable, passed
from rlprobe.verifier.subject import Subject

TOLERANCE = 0.01  # relative
CHECK = Check(
    id="V717",
    title="the optimizer has the learning rate that was set",
    formula="learning rate of every optimizer group = configured rate",
    stage="configuration",
    category="configuration",
    needs=(),
    fix="Hand the configured rate to the optimizer; look for a default that overrides it.",
    causes=("LR_ANOMALY", "CONFIG_MISUSE", "NO_LEARNING"),
)


def run(subject: Subject) -> Outcome:
    """The rate of the optimizer's groups before any schedule against the configured one."""
    given = settings(subject)
    asked = given.number("learning_rate")
    groups = getattr(subject.pipeline.optimizer, "param_groups", None)
    if asked is None or not groups:
        return not_checkable(
            "no learning rate or no optimizer was handed over", missing=("config.learning_rate", "optimizer")
        )
    rates = [float(group.get("initial_lr", group["lr"])) for group in groups if group.get("params")]
    if rates and not any(abs(rate - asked) <= TOLERANCE * asked for rate in rates):
        effective = rates[0]
        return failed(
            "optimizer",
            f"{given.named('learning_rate')} is {asked:g}; the optimizer works at {effective:g}.",
            expected=f"{asked:g}",
            got=f"{effective:g}",
            example=given.example("learning_rate"),
            fingerprint="the setting is ignored",
        )
    return passed(f"{asked:g}")
