"""The learning rate reaches its peak while the run lasts."""

from rlprobe.verifier.measure.settings import settings
from rlprobe.verifier.outcome import Check, Outcome, failed, not_checkable, passed, warned
from rlprobe.verifier.subject import Subject

HALF = 0.5
CHECK = Check(
    id="V715",
    title="the warm-up ends before the run",
    formula="warm-up steps < planned steps",
    stage="configuration",
    category="configuration",
    needs=(),
    fix="Warm up over a few percent of the steps.",
    causes=("NO_LEARNING", "LR_ANOMALY"),
)


def run(subject: Subject) -> Outcome:
    """Warm-up against the length of the run."""
    given = settings(subject)
    steps, ratio, total = given.number("warmup_steps"), given.number("warmup_ratio"), given.number("max_steps")
    if ratio is not None and not 0 <= ratio <= 1:
        return failed(
            "config",
            f"{given.named('warmup_ratio')} is {ratio:g}: it is a fraction of the run.",
            expected="0 to 1",
            got=f"{ratio:g}",
            example=given.example("warmup_ratio"),
        )
    if steps is None and ratio is None:
        return not_checkable("no warm-up is set", missing=("config.warmup_steps",))
    fraction = ratio or 0.0
    if steps is not None and total is not None and total > 0 and steps > 0:
        fraction = steps if steps < 1 else steps / total
    told = failed if fraction >= 1 else warned
    if fraction >= HALF:
        return told(
            "config",
            f"The warm-up takes {fraction:.0%} of the run: the learning rate hardly reaches its peak.",
            expected="at most 10 %",
            got=f"{fraction:.0%}",
            example=given.example("warmup_steps", "warmup_ratio", "max_steps"),
        )
    return passed()
