"""Tokens that stand after the end of text are not in the loss, whatever they are."""

import numpy as np

from rlprobe.verifier.measure.masks import LETTERS, masks
from rlprobe.verifier.outcome import Check, Outcome, failed, passed, warned
from rlprobe.verifier.subject import Subject, shown

CHECK = Check(
    id="V517",
    title="tokens after the end of text are masked, whatever they are",
    formula="mask_t = 0 for every t after the first EOS",
    stage="decode",
    category="masks and alignment",
    needs=("completion_mask",),
    fix="Mask by the place of the first EOS; a second EOS changes nothing.",
    causes=("LENGTH_BIAS", "GIBBERISH"),
)


def run(subject: Subject) -> Outcome:
    """Rows with text, and with a second end of text, after the first."""
    measured = masks(subject)
    a, b, c, d = LETTERS
    for eos, pad in (*measured.distinct, *measured.equal):
        rows = np.array([[a, eos, b, eos, pad, pad], [a, b, eos, c, d, eos]])
        found = measured(rows, eos, pad)
        wanted = measured.expected(rows, eos)
        if np.array_equal(found, wanted):
            continue
        index = int((found != wanted).any(axis=1).argmax())
        by_padding = np.array_equal(found, (rows != pad).astype(np.float64)) and not measured.function.takes("eos_id")
        told = warned if by_padding else failed
        return told(
            "completion_mask",
            f"The mask of {rows[index].tolist()} is {shown(found[index])}: tokens after the end of text ({eos}) count.",
            expected=shown(wanted[index]),
            got=shown(found[index]),
            example=measured.arguments(rows[index : index + 1], eos, pad),
            fingerprint="looks for the last end of text" if found[index].sum() > wanted[index].sum() else "",
        )
    return passed()
