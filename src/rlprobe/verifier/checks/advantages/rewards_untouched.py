"""What comes in is logged and used again afterwards: the functions of this stage change none of their arguments."""

import numpy as np

from rlprobe.verifier import inputs
from rlprobe.verifier.measure.advantages import sample
from rlprobe.verifier.measure.advantages_temporal import episode
from rlprobe.verifier.outcome import Check, Outcome, failed, passed
from rlprobe.verifier.subject import Subject

CHECK = Check(
    id="V217",
    title="rewards and values are not changed in place",
    formula="r after = r before",
    stage="advantages",
    category="gradient breakage",
    needs=("advantages|gae|whiten",),
    fix="Use the operator that gives a new array (a - b, not a -= b or sub_).",
    causes=("ADVANTAGE_INVALID", "METRIC_GAP"),
)


def run(subject: Subject) -> Outcome:
    """One call of each, with every argument compared before and after."""
    rng = subject.rng(CHECK.id)
    for slot in ("advantages", "gae", "whiten"):
        if not subject.has(slot):
            continue
        if slot == "advantages":
            advantages = subject.advantages()
            function, values = advantages.function, advantages.arguments(sample(subject, CHECK.id, advantages))
        else:
            function = subject.function(slot)
            mask = inputs.mask([6, 3, 5], 6)
            drawn = {**episode(rng), "mask": mask, "values": np.where(mask, rng.normal(size=mask.shape), 1.0)}
            values = {role: one for role, one in drawn.items() if function.takes(role)}
        touched = function.changed(**values)
        if touched:
            return failed(
                slot,
                f"The call changes {' and '.join(touched)} in place.",
                expected="arguments as before",
                got="other numbers in the same array",
                example=values,
            )
    return passed()
