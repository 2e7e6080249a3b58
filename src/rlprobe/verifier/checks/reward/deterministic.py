"""The same completion gets the same score twice."""

from rlprobe.verifier.measure.batches import mixed
from rlprobe.verifier.measure.gold import Gold
from rlprobe.verifier.measure.judging import each
from rlprobe.verifier.outcome import Check, Outcome, failed, passed
from rlprobe.verifier.rewarding import same, shown_scores
from rlprobe.verifier.subject import Subject

REPEATS = 4
CHECK = Check(
    id="V102",
    title="the same completion gets the same score",
    formula="score(x) = score(x)",
    stage="reward",
    category="scaling and aggregation",
    needs=("reward",),
    fix="Keep no state between calls and draw no random numbers in the score.",
    causes=("REWARD_STD_DEATH", "NO_LEARNING"),
)


def run(subject: Subject) -> Outcome:
    """A mixed batch scored several times."""
    return each(subject, _judged)


def _judged(gold: Gold) -> Outcome:
    samples = mixed(gold)
    first = gold.reward(samples)
    for _ in range(REPEATS):
        again = gold.reward(samples)
        if not all(same(one, other) for one, other in zip(first, again, strict=True)):
            differing = [(one, other) for one, other in zip(first, again, strict=True) if not same(one, other)]
            small = max(abs((one or 0.0) - (other or 0.0)) for one, other in differing)
            return failed(
                gold.reward.slot,
                f"{gold.reward.name} scores one batch differently when it is asked again, by up to {small:.4g}.",
                expected=shown_scores(first),
                got=shown_scores(again),
                example=gold.reward.example(samples),
            )
    return passed()
