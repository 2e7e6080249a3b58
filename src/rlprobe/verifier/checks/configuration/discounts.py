"""Discount and trace lie between zero and one."""

from rlprobe.verifier.measure.settings import settings
from rlprobe.verifier.outcome import Check, Outcome, failed, not_checkable, passed, warned
from rlprobe.verifier.subject import Subject

LOW = 0.9  # 0.9 to the power of 50 tokens is 0.005
CHECK = Check(
    id="V718",
    title="discount and trace lie between zero and one",
    formula="0 <= γ <= 1, 0 <= λ <= 1",
    stage="configuration",
    category="configuration",
    needs=(),
    fix="Set gamma to 1 and lambda to 0.95 to 1 for one reward at the end of a completion.",
    causes=("VALUE_DIVERGENCE", "CONFIG_MISUSE"),
)


def run(subject: Subject) -> Outcome:
    """Each against its range."""
    given = settings(subject)
    known = {name: value for name in ("gamma", "lam") if (value := given.number(name)) is not None}
    if not known:
        return not_checkable("neither gamma nor lambda is set", missing=("config.gamma",))
    for name, value in known.items():
        if not 0 <= value <= 1:
            return failed(
                "config",
                f"{given.named(name)} is {value:g}: sums over a completion grow without bound.",
                expected="0 to 1",
                got=f"{value:g}",
                example=given.example(name),
            )
        if value < LOW:
            return warned(
                "config",
                f"{given.named(name)} is {value:g}: a reward at the end does not reach the first tokens.",
                expected="0.9 to 1",
                got=f"{value:g}",
                example=given.example(name),
            )
    return passed()
