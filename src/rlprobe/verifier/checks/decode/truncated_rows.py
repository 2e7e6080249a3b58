"""Rows without an end of text are in the loss as a whole or not at all, and as declared."""

import numpy as np

from rlprobe.verifier.measure.masks import masks, table
from rlprobe.verifier.outcome import Check, Outcome, failed, passed
from rlprobe.verifier.subject import Subject, shown

CHECK = Check(
    id="V515",
    title="rows that never end are masked as declared",
    formula="no EOS in the row  =>  Σ mask = length, or 0, as declared",
    stage="decode",
    category="masks and alignment",
    needs=("completion_mask",),
    fix="Give rows without an EOS the full length, or zeros where mask_truncated_completions is set; nothing between.",
    causes=("TRUNCATION_STARVE", "LENGTH_BIAS"),
)


def run(subject: Subject) -> Outcome:
    """A row without an end of text, alone and among rows that end."""
    measured = masks(subject)
    for eos, pad in (*measured.distinct, *measured.equal):
        rows = table(eos, pad)
        wanted = measured.expected(rows, eos)[3]
        for found, how in (
            (measured(rows, eos, pad)[3], "among rows that end"),
            (measured(rows[3:], eos, pad)[0], "alone"),
        ):
            if not np.array_equal(found, wanted):
                said = "declared" if measured.declared else "as it is elsewhere"
                return failed(
                    "completion_mask",
                    f"The mask of a row without end is {shown(found)} {how}, expected {shown(wanted)}, {said}.",
                    expected=shown(wanted),
                    got=shown(found),
                    example=measured.arguments(rows[3:] if how == "alone" else rows, eos, pad),
                    fingerprint="cut at its end" if not measured.declared and found.any() else "",
                )
    return passed()
