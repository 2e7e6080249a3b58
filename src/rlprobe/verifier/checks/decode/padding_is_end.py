"""Where padding and the end of text are one id, each row keeps exactly one of them, the first."""

import numpy as np

from rlprobe.verifier.measure.masks import masks, table
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, passed, warned
from rlprobe.verifier.subject import Subject, shown

CHECK = Check(
    id="V502",
    title="one end of text stays in the loss where it also pads",
    formula="Σ mask = place of the first EOS + 1, also where pad = EOS",
    stage="decode",
    category="masks and alignment",
    needs=("completion_mask",),
    fix="Find the first EOS by position instead of comparing ids with the padding id.",
    causes=("NO_EOS", "LENGTH_EXPLOSION"),
)


def run(subject: Subject) -> Outcome:
    """The table with padding id equal to the end of text, also for id 0."""
    measured = masks(subject)
    if not measured.equal:
        return not_applicable("the function's own padding and end of text differ")
    same = subject.declared.get("pad_id") is not None  # two declared ids that differ leave no such case
    takes_end = measured.function.takes("eos_id") or same
    for eos, pad in measured.equal:
        rows = table(eos, pad)
        found = measured(rows, eos, pad)
        for index in range(len(rows) - 1):
            wanted = measured.expected(rows, eos)[index]
            if not np.array_equal(found[index], wanted):
                told = failed if takes_end else warned
                return told(
                    "completion_mask",
                    f"With padding equal to the end of text ({eos}) the mask of {rows[index].tolist()} is "
                    f"{shown(found[index])}, expected {shown(wanted)}.",
                    expected=shown(wanted),
                    got=shown(found[index]),
                    example=measured.arguments(rows[index : index + 1], eos, pad),
                    fingerprint="compares with the padding id" if found[index].sum() == wanted.sum() - 1 else "",
                )
    return passed()
