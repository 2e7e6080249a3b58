"""An answer that contains the right one, is contained in it, or is another number does not earn its score."""

import re

from rlprobe.verifier.function import RaisedError
from rlprobe.verifier.measure.forms import Form
from rlprobe.verifier.measure.gold import Gold
from rlprobe.verifier.measure.judging import each
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, passed, warned
from rlprobe.verifier.subject import Subject

LONGER = "4217"
CHECK = Check(
    id="V114",
    title="an answer that resembles the right one is wrong",
    formula="score(near miss) < score(right)",
    stage="reward",
    category="reward and decoding mismatch",
    needs=("reward",),
    fix="Compare for equality after normalising; neither `in` nor `startswith`, and a distance as an absolute value.",
    causes=("REWARD_OVEROPTIMIZATION", "FORMAT_GAMING", "EVAL_GAP"),
)


def run(subject: Subject) -> Outcome:
    """Longer and shorter answers, and numbers far to both sides, against the right one."""
    return each(subject, _judged)


def _judged(gold: Gold) -> Outcome:
    form = gold.form
    if gold.kind != "answer" or form is None or gold.inverted:
        return not_applicable("it compares with no answer")
    exact = _exact(gold, form)
    answer = LONGER if _plantable(gold) else gold.answer
    for said in _near(answer):
        sample = gold.saying(said, answer=answer)
        try:
            score = gold.score(sample)
        except RaisedError:
            continue
        if score >= gold.gold_score:
            told = failed if exact or _apart(said, answer) else warned
            return told(
                gold.reward.slot,
                f"{gold.reward.name} gives {said!r} {score:.4g}, as much as the right answer {answer!r}.",
                expected=f"less than {gold.gold_score:.4g}",
                got=f"{score:.4g}",
                example=gold.reward.example([sample]),
                fingerprint=_mistake(said, answer),
            )
    return passed()


def _plantable(gold: Gold) -> bool:
    """Whether a number of four digits can be made the right answer: it has parts that a single digit lacks."""
    try:
        return re.fullmatch(r"\d+", gold.answer) is not None and gold.rewarded(gold.saying(LONGER, answer=LONGER))
    except (RaisedError, ValueError, TypeError):
        return False


def _exact(gold: Gold, form: Form) -> bool:
    """Whether the function picks an answer out; one that looks for it anywhere in plain text is lenient by design."""
    plain = gold.running_text
    numeric = re.fullmatch(r"-?\d*\.?\d+", gold.answer) is not None
    listed = gold.saying(f"{gold.other}, {gold.answer}, {gold.other}", form=form)
    if gold.reading.mentions("endswith", "startswith"):
        return not plain
    return not plain or (numeric and not gold.rewarded(listed))


def _near(answer: str) -> list[str]:
    if re.fullmatch(r"-?\d+", answer):
        near = [f"{answer}0", f"1{answer.lstrip('-')}", "-99999", "99999", f"{int(answer) + 1}"]
        near += [f"{answer[0]}.{answer[1:]}"] if len(answer) > 3 else []
        return [*near, *([answer[0]] if len(answer) > 1 and answer[0] != "-" else [])]
    if re.fullmatch(r"-?\d*\.\d+", answer):
        return [f"{float(answer) + 1:g}", "-99999", "99999"]
    if len(answer) == 1:
        return [letter for letter in "BCDA" if letter != answer.upper()]
    return [f"{answer}x", f"x{answer}", answer[:-1]]


def _apart(said: str, answer: str) -> bool:
    """Whether neither text holds the other: no leniency of searching explains equal scores."""
    return said not in answer and answer not in said


def _mistake(said: str, answer: str) -> str:
    if answer in said:
        return "the right answer inside another one counts"
    return "a part of the right answer counts" if said in answer else "another number counts"
