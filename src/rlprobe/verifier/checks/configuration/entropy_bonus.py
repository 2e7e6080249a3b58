"""The entropy bonus rewards entropy, and less than the task does."""

from rlprobe.verifier.measure.settings import settings
from rlprobe.verifier.outcome import Check, Outcome, not_checkable, passed, warned
from rlprobe.verifier.subject import Subject

LARGE = 0.1
CHECK = Check(
    id="V723",
    title="the entropy coefficient is small and not negative",
    formula="0 <= entropy coefficient <= 0.1",
    stage="configuration",
    category="configuration",
    needs=(),
    fix="Set 0 to 0.01.",
    causes=("ENTROPY_EXPLOSION", "ENTROPY_COLLAPSE"),
)


def run(subject: Subject) -> Outcome:
    """The coefficient against its sign and usual size."""
    given = settings(subject)
    value = given.number("entropy_coefficient")
    if value is None:
        return not_checkable("no entropy coefficient is set", missing=("config.entropy_coefficient",))
    if value < 0 or value > LARGE:
        return warned(
            "config",
            f"{given.named('entropy_coefficient')} is {value:g}: "
            f"{'it punishes entropy' if value < 0 else 'entropy outweighs rewards of order one'}.",
            expected=f"0 to {LARGE:g}",
            got=f"{value:g}",
            example=given.example("entropy_coefficient"),
        )
    return passed()
