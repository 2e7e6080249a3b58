"""The KL term restrains the policy without ruling it."""

from rlprobe.verifier.measure.settings import settings
from rlprobe.verifier.outcome import Check, Outcome, failed, not_checkable, passed, warned
from rlprobe.verifier.subject import Subject

HIGHEST = 0.1  # per token, rewards of order one
HIGHEST_PREFERENCE = 1.0  # DPO; 0.1 is usual
PREFERENCE = ("dpo", "ipo", "kto")
CHECK = Check(
    id="V702",
    title="the KL coefficient restrains without ruling",
    formula="0 <= β <= about 0.1 per token",
    stage="configuration",
    category="configuration",
    needs=(),
    fix="Start from 0.001 to 0.05, or 0 without a reference; in DPO from 0.1.",
    causes=("KL_DOMINATES", "KL_BLOWUP"),
)


def run(subject: Subject) -> Outcome:
    """The coefficient against its sign and usual size."""
    given = settings(subject)
    value = given.number("kl_coefficient")
    preference = given.algorithm in PREFERENCE
    if value is None and preference:
        value = given.number("dpo_beta")
    if value is None:
        return not_checkable("no KL coefficient is set", missing=("config.kl_coefficient",))
    name = given.named("kl_coefficient")
    if not value >= 0 or (preference and value == 0):
        return failed(
            "config",
            f"{name} is {value:g}: {'the margin is lost' if value == 0 else 'distance is paid for'}.",
            expected="above 0" if preference else "at least 0",
            got=f"{value:g}",
            example={name: value},
        )
    highest = HIGHEST_PREFERENCE if preference else HIGHEST
    if value > highest:
        return warned(
            "config",
            f"{name} is {value:g}, above {highest:g}: the KL term outweighs rewards of order one.",
            expected=f"at most {highest:g}",
            got=f"{value:g}",
            example={name: value},
        )
    return passed(f"{name} {value:g}")
