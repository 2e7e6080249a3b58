"""The constant beside the standard deviation keeps a flat group finite and changes no other."""

from rlprobe.verifier.measure.settings import settings
from rlprobe.verifier.outcome import Check, Outcome, failed, not_checkable, passed, warned
from rlprobe.verifier.subject import Subject

LARGE = 1e-2  # of rewards of order one
RULES = 0.1  # a fifth of the largest deviation that rewards in 0..1 have
CHECK = Check(
    id="V706",
    title="the epsilon of the advantage is small beside the deviation",
    formula="ε << std(r in a group)",
    stage="configuration",
    category="configuration",
    needs=(),
    fix="Set 1e-6 to 1e-4.",
    causes=("ADV_COLLAPSE", "NO_LEARNING"),
)


def run(subject: Subject) -> Outcome:
    """The constant against the deviation of rewards."""
    given = settings(subject)
    value = given.number("advantage_epsilon")
    if value is None:
        return not_checkable("no epsilon of the advantage is set", missing=("config.advantage_epsilon",))
    name = given.named("advantage_epsilon")
    if value < 0 or value >= RULES:
        return failed(
            "config",
            f"{name} is {value:g}: rewards between 0 and 1 deviate by at most 0.5, so it rules the scale.",
            expected=f"0 to {LARGE:g}",
            got=f"{value:g}",
            example=given.example("advantage_epsilon"),
        )
    if value > LARGE or value == 0:
        return warned(
            "config",
            f"{name} is {value:g}: {'a flat group divides 0 by 0' if value == 0 else 'small deviations are damped'}.",
            expected=f"above 0, at most {LARGE:g}",
            got=f"{value:g}",
            example=given.example("advantage_epsilon"),
        )
    return passed(f"{name} {value:g}")
