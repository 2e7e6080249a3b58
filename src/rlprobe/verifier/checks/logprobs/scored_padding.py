"""Padding on the right does not change a completion's scores: alone and in a padded batch they are the same."""

import numpy as np

from rlprobe.recording.run import FloatArray, IntArray
from rlprobe.verifier import inputs
from rlprobe.verifier.measure.logprobs import distance
from rlprobe.verifier.measure.scoring import Scorer, quiet, scorer
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, passed
from rlprobe.verifier.subject import Subject, shown

LENGTHS = (7, 4, 5)
CHECK = Check(
    id="V329",
    title="right padding does not change scores",
    formula="score(right-padded row) = score(row)",
    stage="logprobs",
    category="masks and alignment",
    needs=("model", "score"),
    fix="Give the model the attention mask, and no statistic over the batch.",
    causes=("RATIO_NOT_ONE", "TRAIN_INFER_MISMATCH"),
)


def run(subject: Subject) -> Outcome:
    """Rows of three lengths, alone and padded together with two kinds of padding."""
    if subject.declared.text("pad_side") == "left":
        return not_applicable("padding is declared on the left")
    score = scorer(subject)
    ids = score.ids(subject.rng(CHECK.id), rows=len(LENGTHS), tokens=max(LENGTHS))
    mask = inputs.mask(list(LENGTHS), max(LENGTHS))
    with quiet(score.model):
        for junk in (0, 1):
            padded = np.where(mask, ids, junk)
            together = score(padded, mask)
            for row, length in enumerate(LENGTHS):
                outcome = _compared(score, ids[row : row + 1, :length], together[row, : length - 1], padded, mask)
                if outcome is not None:
                    return outcome
    return passed()


def _compared(score: Scorer, alone: IntArray, found: FloatArray, padded: IntArray, mask: object) -> Outcome | None:
    wanted = score(alone)[0]
    gap = distance(found, wanted)
    if gap <= score.tolerance:
        return None
    return failed(
        "score",
        f"A row of {alone.shape[1]} tokens, padded on the right, has scores off by up to {gap:.3g} nats.",
        expected=shown(wanted),
        got=shown(found),
        example={"ids": padded, "mask": mask},
    )
