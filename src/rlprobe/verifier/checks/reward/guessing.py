"""A list of guesses of which one is right does not earn the reward of an answer."""

from rlprobe.verifier.measure.gold import Gold
from rlprobe.verifier.measure.judging import each
from rlprobe.verifier.outcome import Check, Outcome, not_applicable, passed, warned
from rlprobe.verifier.subject import Subject

CHECK = Check(
    id="V120",
    title="a list of guesses does not earn the reward",
    formula='score("1, 2, 3, right") < score("right")',
    stage="reward",
    category="reward and decoding mismatch",
    needs=("reward",),
    fix="Take one answer of a completion, the last, and compare that.",
    causes=("REWARD_OVEROPTIMIZATION", "FORMAT_GAMING", "LENGTH_EXPLOSION"),
)


def run(subject: Subject) -> Outcome:
    """Right and wrong answers in turns, the right one first, in the middle, last; tells which one counts."""

    def judged(gold: Gold) -> Outcome:
        if gold.kind != "answer" or gold.form is None or gold.inverted:
            return not_applicable("it compares with no answer")
        right, wrong = gold.form(gold.answer), gold.form(gold.other)
        first, middle, last = (
            gold.rewarded(gold.gold.saying("\n".join(texts)))
            for texts in ((right, wrong, wrong), (wrong, right, wrong), (wrong, wrong, right))
        )
        counts = "any" if middle else "last" if last and not first else "first" if first and not last else "none"
        subject.measured[f"answer that counts ({gold.reward.name})"] = counts
        if middle:
            return warned(
                gold.reward.slot,
                f"{gold.reward.name} rewards a completion with three answers of which the second is right.",
                expected=f"{gold.wrong_score:.4g}",
                got=f"{gold.gold_score:.4g}",
                example=gold.reward.example([gold.gold.saying("\n".join((wrong, right, wrong)))]),
                fingerprint="any of several answers counts",
            )
        if counts == "first" and gold.form.marker == "boxed":
            return warned(
                gold.reward.slot,
                f"{gold.reward.name} takes the first of several boxed answers; the last is the one that is meant.",
                expected="the last",
                got="the first",
                example=gold.reward.example([gold.gold.saying("\n".join((right, wrong)))]),
                fingerprint="the first of several answers counts",
            )
        return passed(f"the {counts} of several answers counts")

    return each(subject, judged)
