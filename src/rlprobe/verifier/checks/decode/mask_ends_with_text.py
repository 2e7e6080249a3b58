"""The mask is 1 up to and with the first end of text and 0 after it; each row has its own end."""

import numpy as np

from rlprobe.recording.run import FloatArray
from rlprobe.verifier.measure.masks import Masks, masks, table
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, passed
from rlprobe.verifier.subject import Subject, shown

CHECK = Check(
    id="V501",
    title="the completion mask ends with the first end of text",
    formula="mask_t = 1 for t <= first EOS, 0 after it",
    stage="decode",
    category="masks and alignment",
    needs=("completion_mask",),
    fix="Keep positions up to and with the first EOS of their row: index <= first_eos, per row.",
    causes=("NO_EOS", "LENGTH_EXPLOSION", "LENGTH_BIAS"),
)


def run(subject: Subject) -> Outcome:
    """A table of rows that end in the middle, at once, at the last place, and never, row by row and together."""
    measured = masks(subject)
    if not measured.distinct:
        return not_applicable("padding and the end of text are one id (V502)")
    for eos, pad in measured.distinct:
        rows = table(eos, pad)
        together = measured(rows, eos, pad)
        for index in range(len(rows) - 1):  # what becomes of the last row, which has no end, is V515's
            wanted = measured.expected(rows, eos)[index]
            alone = measured(rows[index : index + 1], eos, pad)[0]
            for found in (alone, together[index]):
                if not np.array_equal(found, wanted):
                    return _failed(measured, rows, index, (eos, pad), found, wanted)
    return passed()


def _failed(
    measured: Masks, rows: np.ndarray, index: int, ids: tuple[int, int], found: FloatArray, wanted: FloatArray
) -> Outcome:  # fmt: skip
    return failed(
        "completion_mask",
        f"The mask of {rows[index].tolist()} (end of text {ids[0]}, padding {ids[1]}) is {shown(found)}, "
        f"expected {shown(wanted)}.",
        expected=shown(wanted),
        got=shown(found),
        example=measured.arguments(rows[index : index + 1], *ids),
        fingerprint=_mistake(rows[index], ids[0], found, wanted),
    )


def _mistake(row: np.ndarray, eos: int, found: FloatArray, wanted: FloatArray) -> str:
    if np.array_equal(found, 1 - wanted):
        return "inverted"
    if np.array_equal(found, wanted * (row != eos)):
        return "the end of text is masked: the policy never learns to stop"
    if found.all():
        return "nothing is masked"
    if not found.any():
        return "everything is masked"
    if found[0] == 0 and np.array_equal(found[1:], wanted[1:]):
        return "the first token is masked"
    return "one token too many" if found.sum() == wanted.sum() + 1 else ""
