"""What comes later does not change the score of what came before."""

import numpy as np

from rlprobe.verifier.measure.scoring import quiet, scorer
from rlprobe.verifier.outcome import Check, Outcome, failed, passed
from rlprobe.verifier.subject import Subject, shown

CHECK = Check(
    id="V327",
    title="later tokens do not change earlier scores",
    stage="logprobs",
    category="masks and alignment",
    needs=("model", "score"),
    fix="Keep the causal mask, and score a token by the logits of the position before it.",
    causes=("RATIO_NOT_ONE", "TRAIN_INFER_MISMATCH"),
)


def run(subject: Subject) -> Outcome:
    """One token changed in the middle, one at the end: scores before it stay, its own moves, other rows stay."""
    score = scorer(subject)
    ids = score.ids(subject.rng(CHECK.id))
    with quiet(score.model):
        before = score(ids)
        for place in (3, ids.shape[1] - 1):
            changed = ids.copy()
            changed[0, place] = ids[0, place] - 1 if ids[0, place] > 0 else ids[0, place] + 1
            after = score(changed)
            early = np.abs(after - before)[0, : place - 1].max()
            beside = np.abs(after - before)[1:].max()
            own = abs(float(after[0, place - 1] - before[0, place - 1]))
            if early > score.tolerance or beside > score.tolerance or own < 1e-7:
                told = (
                    "earlier scores"
                    if early > score.tolerance
                    else "scores of other rows"
                    if beside > score.tolerance
                    else ""
                )
                return failed(
                    "score",
                    f"Changing token {place} moves {told}."
                    if told
                    else f"Changing token {place} leaves its own score as it was.",
                    expected="its own score and later ones of its row",
                    got=f"{shown(before[0])} became {shown(after[0])}",
                    example={"ids": changed},
                    fingerprint="" if told else "shifted: output t scores another token",
                )
    return passed()
