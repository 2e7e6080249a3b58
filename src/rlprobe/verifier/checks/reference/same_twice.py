"""Two forwards of the same tokens in training mode give the same log-probs: nothing random is between old and new."""

import numpy as np

from rlprobe.verifier.measure.scoring import quiet, scorer
from rlprobe.verifier.outcome import Check, Outcome, failed, passed
from rlprobe.verifier.subject import Subject, shown

CHECK = Check(
    id="V610",
    title="two forwards in training mode agree",
    formula="score(x) = score(x) in training mode",
    stage="reference",
    category="reference drift",
    needs=("model",),
    fix="Set every dropout probability to 0 for reinforcement learning, or score in evaluation mode throughout.",
    causes=("RATIO_NOT_ONE", "CLIP_SATURATION"),
)


def run(subject: Subject) -> Outcome:
    """Twice in training mode, and once in evaluation mode."""
    score = scorer(subject)
    ids = score.ids(subject.rng(CHECK.id), rows=4)
    with quiet(score.model):
        evaluated = score(ids)
        score.model.train()
        first, second = score(ids), score(ids)
    gap = float(np.abs(first - second).max())
    if gap > score.tolerance:
        return failed(
            "score",
            f"Two forwards in training mode differ by up to {gap:.3g} nats a token.",
            expected=shown(first),
            got=shown(second),
            example={"ids": ids},
            fingerprint="dropout is on",
        )
    gap = float(np.abs(first - evaluated).max())
    if gap > score.tolerance:
        return failed(
            "score",
            f"Training and evaluation mode differ by up to {gap:.3g} nats a token.",
            expected=shown(evaluated),
            got=shown(first),
            example={"ids": ids},
        )
    return passed()
