"""Scores through the model are log-probs: the probabilities of everything that can follow a prefix sum to 1."""

import numpy as np

from rlprobe.verifier.measure.scoring import LARGEST_VOCABULARY, quiet, scorer
from rlprobe.verifier.outcome import Check, Outcome, failed, not_checkable, passed
from rlprobe.verifier.subject import Subject, shown

NEAR = 1e-3
CHECK = Check(
    id="V325",
    title="scores of all next tokens sum to probability 1",
    formula="Σ_y exp(score(prefix + y)) = 1",
    stage="logprobs",
    category="masks and alignment",
    needs=("model", "score"),
    fix="Pair logits[:, :-1] with ids[:, 1:]: the logits of a position must not have seen the token that they score.",
    causes=("RATIO_NOT_ONE", "TRAIN_INFER_MISMATCH"),
)


def run(subject: Subject) -> Outcome:
    """One prefix with every token of the vocabulary after it."""
    score = scorer(subject)
    if not score.vocabulary or score.vocabulary > LARGEST_VOCABULARY:
        return not_checkable("the vocabulary is not known, or too large to try every token")
    prefix = score.ids(subject.rng(CHECK.id), rows=1, tokens=4)
    ids = np.repeat(np.pad(prefix, ((0, 0), (0, 1))), score.vocabulary, axis=0)
    ids[:, -1] = np.arange(score.vocabulary)
    with quiet(score.model), np.errstate(over="ignore"):
        found = score(ids)[:, -1]
        total = float(np.exp(found).sum())
    near = max(NEAR, score.tolerance)
    if found.max() > near or abs(total - 1.0) > near:
        return failed(
            "score",
            f"The probabilities of all {score.vocabulary} next tokens sum to {total:.4g}"
            + (f"; the highest score is {found.max():.3g}." if found.max() > near else "."),
            expected="1, each score at most 0",
            got=shown(found),
            example={"ids": ids},
            fingerprint=_fingerprint(found, total),
        )
    return passed(f"vocabulary of {score.vocabulary}")


def _fingerprint(found: "np.ndarray[tuple[int, ...], np.dtype[np.float64]]", total: float) -> str:
    if np.ptp(found) < NEAR:
        return "the last token is not scored"
    if abs(float(np.exp(-found).sum()) - 1.0) < NEAR:
        return "negated"
    if abs(float(found.sum()) - 1.0) < NEAR:
        return "a probability, not its logarithm"
    return "raw logits" if total > 1.0 and found.max() > 0 else "the logits have seen the token that they score"
