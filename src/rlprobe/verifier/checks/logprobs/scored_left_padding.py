"""Padding on the left does not change scores: positions start at the first real token and nobody attends to padding."""

import numpy as np

from rlprobe.verifier.measure.logprobs import distance
from rlprobe.verifier.measure.scoring import quiet, scorer
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, passed, warned
from rlprobe.verifier.subject import Subject, shown

LENGTHS = (7, 4, 5)
CHECK = Check(
    id="V312",
    title="left padding does not change scores",
    formula="log p(left-padded row) = log p(row)",
    stage="logprobs",
    category="masks and alignment",
    needs=("model", "score"),
    fix="Pass the attention mask and position_ids = (mask.cumsum(1) - 1).clamp(min=0) to every forward that scores.",
    causes=("RATIO_NOT_ONE", "TRAIN_INFER_MISMATCH"),
)


def run(subject: Subject) -> Outcome:
    """Rows of three lengths, alone and padded on the left together."""
    side = subject.declared.text("pad_side") or str(getattr(subject.pipeline.tokenizer, "padding_side", ""))
    score = scorer(subject)
    if side == "right" or not score.function.takes("mask"):
        return not_applicable("padding stands on the right, or no mask is taken")
    widest = max(LENGTHS)
    ids = score.ids(subject.rng(CHECK.id), rows=len(LENGTHS), tokens=widest)
    mask = np.arange(widest)[None, :] >= widest - np.array(LENGTHS)[:, None]
    with quiet(score.model):
        for junk in (0, 1):
            padded = np.where(mask, ids, junk)
            positions = np.maximum(mask.cumsum(axis=1) - 1, 0)
            together = score(padded, mask, positions=positions)
            for row, length in enumerate(LENGTHS):
                wanted = score(ids[row : row + 1, widest - length :])[0]
                found = together[row, widest - length :]
                gap = distance(found, wanted)
                if gap > score.tolerance:
                    outcome = failed if side == "left" else warned
                    return outcome(
                        "score",
                        f"A row of {length} tokens, padded on the left, has scores off by up to {gap:.3g} nats.",
                        expected=shown(wanted),
                        got=shown(found),
                        example={"ids": padded, "mask": mask},
                    )
    return passed()
