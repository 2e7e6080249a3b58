"""A completion's score does not depend on what else is in the batch."""

from rlprobe.verifier.measure.batches import mixed
from rlprobe.verifier.measure.gold import Gold
from rlprobe.verifier.measure.judging import each
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, passed
from rlprobe.verifier.rewarding import same, shown_scores
from rlprobe.verifier.subject import Subject

CHECK = Check(
    id="V104",
    title="a score does not depend on the other rows of the batch",
    formula="score([x, y, ...])[0] = score([x])[0]",
    stage="reward",
    category="scaling and aggregation",
    needs=("reward",),
    fix="Leave means and divisions over the batch to the advantages; score each row by itself.",
    causes=("REWARD_SCALE_SHIFT", "GROUPING_BUG"),
)


def run(subject: Subject) -> Outcome:
    """A batch against its rows one by one, and against the batch twice over."""
    return each(subject, _judged)


def _judged(gold: Gold) -> Outcome:
    if gold.reward.layout == "single":
        return not_applicable("it scores one completion at a time")
    samples = mixed(gold)
    together = gold.reward(samples)
    for found, how in (
        ([gold.reward.score(one) for one in samples], "one by one"),
        (gold.reward([*samples, *samples])[: len(samples)], "with the batch twice over"),
        (gold.reward(samples[:2]) + gold.reward(samples[2:]), "in two parts"),
    ):
        if not all(same(one, other) for one, other in zip(found, together, strict=True)):
            return failed(
                gold.reward.slot,
                f"{gold.reward.name} gives {shown_scores(together)} to a batch and {shown_scores(found)} to it {how}.",
                expected=shown_scores(found),
                got=shown_scores(together),
                example=gold.reward.example(samples),
            )
    return passed()
