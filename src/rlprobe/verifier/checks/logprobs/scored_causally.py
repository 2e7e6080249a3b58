"""What comes later does not change the score of what came before."""

import numpy as np

from rlprobe.recording.run import FloatArray, IntArray
from rlprobe.verifier.measure.scoring import quiet, scorer
from rlprobe.verifier.outcome import Check, Outcome, failed, passed
from rlprobe.verifier.subject import Subject, shown

STILL = 1e-7  # nats
CHECK = Check(
    id="V327",
    title="later tokens do not change earlier scores",
    formula="score(y_t) does not change with y_s, s > t",
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
            own = 0.0
            for step in (1, 2):  # two other tokens: one may have the same score by chance
                changed = ids.copy()
                changed[0, place] = ids[0, place] + (-step if ids[0, place] >= step else step)
                after = score(changed)
                own = max(own, abs(float(after[0, place - 1] - before[0, place - 1])))
                early = float(np.abs(after - before)[0, : place - 1].max())
                beside = float(np.abs(after - before)[1:].max())
                if max(early, beside) > score.tolerance:
                    return _failed(
                        place, "earlier scores" if early > beside else "scores of other rows", changed, after
                    )
            if own < STILL and not score.coarse:  # in bfloat16 several tokens have one score
                return _failed(place, "", changed, after)
    return passed()


def _failed(place: int, moved: str, ids: IntArray, found: FloatArray) -> Outcome:
    return failed(
        "score",
        f"Changing token {place} moves {moved}." if moved else f"Changing token {place} leaves its score as it was.",
        expected="its own score and later ones of its row",
        got=shown(found),
        example={"ids": ids},
        fingerprint="" if moved else "shifted: output t scores another token",
    )
