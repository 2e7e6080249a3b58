"""Where several ids end a text, the first of any of them ends the mask."""

import numpy as np

from rlprobe.verifier.function import RaisedError
from rlprobe.verifier.measure.masks import LETTERS, masks
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, passed
from rlprobe.verifier.subject import Subject, shown

CHECK = Check(
    id="V516",
    title="each of several ends of text ends the mask",
    formula="mask ends at min(place of any id in the EOS set)",
    stage="decode",
    category="masks and alignment",
    needs=("completion_mask",),
    fix="Compare with all ids of the generation configuration (isin), not with the first of them.",
    causes=("NO_EOS", "LENGTH_BIAS"),
)


def run(subject: Subject) -> Outcome:
    """The declared list of ids, each of them as the end of a row."""
    listed = subject.declared.get("eos_id")
    if not isinstance(listed, list | tuple) or len(listed) < 2:
        return not_applicable("one id ends a text")
    measured = masks(subject)
    a, b, c, _ = LETTERS
    pad = measured.distinct[0][1] if measured.distinct else int(listed[0])
    for end in listed:
        row = np.array([[a, b, int(end), c, pad, pad]])
        wanted = np.array([1.0, 1, 1, 0, 0, 0])
        values = measured.arguments(row, list(listed), pad)
        try:
            found = measured.function(**values).reshape(-1)
        except RaisedError as error:
            return failed(
                "completion_mask", f"The mask raises {error.told} for the declared ends of text {list(listed)}.",
                expected=shown(wanted), got=error.told, example=values,
            )  # fmt: skip
        if not np.array_equal(found, wanted):
            return failed(
                "completion_mask",
                f"The mask of {row[0].tolist()} is {shown(found)} where {list(listed)} end a text.",
                expected=shown(wanted),
                got=shown(found),
                example=values,
                fingerprint="one of the ends is not known" if found[3:].any() else "",
            )
    return passed()
