"""A group has enough samples for a baseline."""

from rlprobe.verifier.measure.settings import settings
from rlprobe.verifier.outcome import Check, Outcome, failed, not_checkable, passed, warned
from rlprobe.verifier.subject import Subject

CHECK = Check(
    id="V704",
    title="a group is large enough for a baseline",
    formula="group size >= 2, better 4",
    stage="configuration",
    category="configuration",
    needs=(),
    fix="Sample at least 4 completions a prompt; 8 to 16 are usual.",
    causes=("DEGENERATE_GROUPS", "ADV_COLLAPSE"),
)


def run(subject: Subject) -> Outcome:
    """The number of samples a prompt."""
    given = settings(subject)
    size = given.number("group_size")
    if size is None:
        return not_checkable("no group size is set", missing=("config.group_size",))
    name = given.named("group_size")
    if size < 1 or size % 1 or (size == 1 and given.grouped):
        return failed(
            "config",
            f"{name} is {size:g}: {'a sample alone has no baseline' if size == 1 else 'no group has that many'}.",
            expected="a whole number above 1",
            got=f"{size:g}",
            example=given.example("group_size"),
            fingerprint="every advantage is zero" if size == 1 else "",
        )
    if (
        size == 2
        and given.grouped
        and given.algorithm != "rloo"
        and given.text("advantage_scaling") not in ("none", "false")
    ):
        return warned(
            "config",
            f"{name} is 2: divided by the deviation of two samples every advantage is +-0.71 or 0.",
            expected="at least 4",
            got="2",
            example=given.example("group_size"),
        )
    return passed(f"{name} {size:g}")
