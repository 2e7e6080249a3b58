"""Scores keep to a range: no text makes a score so large that one row rules the batch."""

from rlprobe.verifier.function import RaisedError
from rlprobe.verifier.measure.gold import Gold
from rlprobe.verifier.measure.judging import each
from rlprobe.verifier.measure.shapes import awkward
from rlprobe.verifier.outcome import Check, Outcome, passed, warned
from rlprobe.verifier.subject import Subject

LARGE = 1e3  # times the difference between a right and a wrong completion, or in absolute terms
CHECK = Check(
    id="V108",
    title="scores keep to a range",
    formula="|score(x)| <= 1000 · max(1, |score(right) - score(wrong)|)",
    stage="reward",
    category="scaling and aggregation",
    needs=("reward",),
    fix="Clip the part of the score that grows with the text.",
    causes=("REWARD_HACK_LENGTH", "REWARD_SCALE_SHIFT"),
)


def run(subject: Subject) -> Outcome:
    """The largest score over awkward texts against the difference that the reward is there for."""
    return each(subject, _judged)


def _judged(gold: Gold) -> Outcome:
    unit = abs(gold.gold_score - gold.wrong_score) or 1.0
    for name, text in awkward(gold.gold.completion):
        sample = gold.gold.saying(text)
        try:
            score = gold.score(sample)
        except RaisedError:
            continue
        if abs(score) > LARGE * max(unit, 1e-3) and abs(score) > LARGE:
            return warned(
                gold.reward.slot,
                f"{gold.reward.name} scores {score:.4g} for a text that is {name}, right and wrong {unit:.4g} apart.",
                expected=f"at most {LARGE * unit:.4g} in size",
                got=f"{score:.4g}",
                example=gold.reward.example([sample]),
            )
    return passed()
