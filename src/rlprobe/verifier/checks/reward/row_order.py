"""Rows given in another order give the same scores in that order: every completion meets its own columns."""

from rlprobe.verifier.measure.batches import mixed
from rlprobe.verifier.measure.gold import Gold
from rlprobe.verifier.measure.judging import each
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, passed
from rlprobe.verifier.rewarding import same, shown_scores
from rlprobe.verifier.subject import Subject

PERMUTATIONS = 4
CHECK = Check(
    id="V103",
    title="scores follow their rows when rows change places",
    formula="score(rows[p]) = score(rows)[p] for every permutation p",
    stage="reward",
    category="grouping and order",
    needs=("reward",),
    fix="Walk completions and columns together, one index for both.",
    causes=("GROUPING_BUG", "NO_LEARNING"),
)


def run(subject: Subject) -> Outcome:
    """A batch of different answers, right and wrong, in several orders."""
    rng = subject.rng(CHECK.id)

    def judged(gold: Gold) -> Outcome:
        if gold.reward.layout == "single":
            return not_applicable("it scores one completion at a time")
        samples = mixed(gold)
        alone = gold.reward(samples)
        for _ in range(PERMUTATIONS):
            order = [int(one) for one in rng.permutation(len(samples))]
            found = gold.reward([samples[index] for index in order])
            wanted = [alone[index] for index in order]
            if not all(same(one, other) for one, other in zip(found, wanted, strict=True)):
                return failed(
                    gold.reward.slot,
                    f"{gold.reward.name} scores a batch in another order {shown_scores(found)}, "
                    f"where its own rows have {shown_scores(wanted)}.",
                    expected=shown_scores(wanted),
                    got=shown_scores(found),
                    example=gold.reward.example([samples[index] for index in order]),
                    fingerprint="scores of other rows",
                )
        return passed()

    return each(subject, judged)
