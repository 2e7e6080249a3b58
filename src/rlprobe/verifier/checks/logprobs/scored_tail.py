"""The scores of the last tokens are the same whether only they are asked for or all of them."""

from rlprobe.verifier.measure.logprobs import distance
from rlprobe.verifier.measure.scoring import quiet, scorer
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, passed
from rlprobe.verifier.subject import Subject, shown

CHECK = Check(
    id="V315",
    title="scores of the completion are the tail of all scores",
    formula="log p(last k) = log p(all)[-k:]",
    stage="logprobs",
    category="masks and alignment",
    needs=("model", "score"),
    fix="Drop the last logit first, then keep the last k logits and the last k ids.",
    causes=("RATIO_NOT_ONE", "TRAIN_INFER_MISMATCH"),
)


def run(subject: Subject) -> Outcome:
    """The last one, two and four tokens."""
    score = scorer(subject)
    if not score.function.takes("completion_tokens"):
        return not_applicable("the function scores whole sequences")
    ids = score.ids(subject.rng(CHECK.id))
    with quiet(score.model):
        whole = score(ids)
        for keep in (1, 2, 4):
            found = score(ids, keep=keep)
            if distance(found, whole[:, -keep:]) > score.tolerance:
                return failed(
                    "score",
                    f"The last {keep} scores differ when only they are asked for.",
                    expected=shown(whole[:, -keep:]),
                    got=shown(found),
                    example={"ids": ids, "completion_tokens": keep},
                )
    return passed()
