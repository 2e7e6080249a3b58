"""The logits and ids that come in are used again afterwards: the functions of this stage change none of them."""

import numpy as np

from rlprobe.verifier.measure.logprobs import drawn
from rlprobe.verifier.outcome import Check, Outcome, failed, passed, warned
from rlprobe.verifier.subject import Subject

CHECK = Check(
    id="V317",
    title="logits and ids are not changed in place",
    formula="z and y after = z and y before",
    stage="logprobs",
    category="gradient breakage",
    needs=("logprobs|entropy",),
    fix="Divide and mask out of place: logits / t, not logits.div_(t) or logits /= t.",
    causes=("RATIO_NOT_ONE", "TRAIN_INFER_MISMATCH"),
)


def run(subject: Subject) -> Outcome:
    """One call of each at temperature 2, with every argument compared before and after."""
    logits, ids = drawn(subject, CHECK.id)
    drawn_values = {"logits": logits, "ids": ids, "temperature": 2.0, "mask": np.ones(ids.shape, dtype=bool)}
    for slot in ("logprobs", "entropy"):
        if not subject.has(slot):
            continue
        function = subject.function(slot)
        values = {role: one for role, one in drawn_values.items() if function.takes(role)}
        touched = function.changed(**values)
        if touched and function.takes("temperature") and not function.changed(**{**values, "temperature": 1.0}):
            return warned(
                slot,
                "The call divides the logits by the temperature in place. Right only if nothing reads them afterwards.",
                expected="logits as before",
                got="logits divided by 2",
            )
        if touched:
            return failed(
                slot,
                f"The call changes {' and '.join(touched)} in place.",
                expected="arguments as before",
                got="other numbers in the same array",
                example=values,
            )
    return passed()
