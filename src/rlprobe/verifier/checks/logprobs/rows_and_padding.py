"""A row has the same log-probs alone, beside other rows, and with columns of padding after it."""

import numpy as np

from rlprobe.verifier.measure.logprobs import TOLERANCE, distance, drawn, measured
from rlprobe.verifier.outcome import Check, Outcome, failed, passed
from rlprobe.verifier.subject import Subject, shown

PADDING = 2  # columns
CHECK = Check(
    id="V308",
    title="log-probs of a row do not hang on its batch",
    formula="log p(batch)[i] = log p(row i alone)",
    stage="logprobs",
    category="masks and alignment",
    needs=("logprobs",),
    fix="Index rows by themselves: no flattening across rows, no statistic over the batch.",
    causes=("RATIO_NOT_ONE", "TRAIN_INFER_MISMATCH"),
)


def run(subject: Subject) -> Outcome:
    """Three rows together, one at a time, in reverse, and padded on the right."""
    function = measured(subject)
    logits, ids = drawn(subject, CHECK.id, rows=3)
    together = function(logits, ids)
    alone = np.concatenate([function(logits[row : row + 1], ids[row : row + 1]) for row in range(3)])
    cases = {
        "one row at a time": (alone, together),
        "rows in reverse": (function(logits[::-1], ids[::-1])[::-1], together),
    }
    wide = function.arguments(np.pad(logits, ((0, 0), (0, PADDING), (0, 0))), np.pad(ids, ((0, 0), (0, PADDING))))
    if "mask" in wide:
        wide["mask"] = np.pad(np.ones(ids.shape, dtype=bool), ((0, 0), (0, PADDING)))
    width = together.shape[1] - (1 if function.layout == "zero_last" else 0)
    cases["padding on the right"] = (function.function(**wide)[:, :width], together[:, :width])
    for told, (found, wanted) in cases.items():
        gap = distance(found, wanted)
        if gap > TOLERANCE:
            return failed(
                "logprobs",
                f"With {told}, log-probs differ by up to {gap:.3g} nats.",
                expected=shown(wanted),
                got=shown(found),
                example=wide if "padding" in told else function.arguments(logits, ids),
            )
    return passed()
