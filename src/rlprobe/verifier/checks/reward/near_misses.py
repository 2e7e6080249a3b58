"""An answer that contains the right one, is contained in it, or is another number does not earn its score."""

import re

from rlprobe.verifier.function import RaisedError
from rlprobe.verifier.measure.forms import Form
from rlprobe.verifier.measure.gold import Gold
from rlprobe.verifier.measure.judging import each
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, passed, warned
from rlprobe.verifier.subject import Subject

LONGER = "4217"
TOLERATED = 0.1  # relative; graders of measured quantities take 1 to 5 %
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
    for answer in _tried(gold):
        for said in _near(answer):
            sample = gold.saying(said, answer=answer)
            try:
                score = gold.score(sample)
            except (RaisedError, ValueError, TypeError):
                continue
            if score < gold.gold_score:
                continue
            told = warned if _near_by(said, answer) else failed if exact or _apart(said, answer) else warned
            return told(
                gold.reward.slot,
                f"{gold.reward.name} gives {said!r} {score:.4g}, as much as the right answer {answer!r}.",
                expected=f"less than {gold.gold_score:.4g}",
                got=f"{score:.4g}",
                example=gold.reward.example([sample]),
                fingerprint=_mistake(said, answer),
            )
    return passed()


def _tried(gold: Gold) -> list[str]:
    """Right answers to vary: one of many digits where it can be planted, and rewarded ones of the data set."""
    found = [LONGER] if _plantable(gold) else [gold.answer]
    own = [right for right, _ in gold.column.pairs] if gold.column is not None else []
    return found + [one for one in own if one not in found and _earns(gold, one)]


def _earns(gold: Gold, answer: str) -> bool:
    try:
        return gold.rewarded(gold.saying(answer, answer=answer))
    except (RaisedError, ValueError, TypeError):
        return False


def _plantable(gold: Gold) -> bool:
    """Whether a number of four digits can be made the right answer: it has parts that a single digit lacks."""
    return re.fullmatch(r"\d+", gold.answer) is not None and _earns(gold, LONGER)


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
        near = [f"{answer}0", f"1{answer.lstrip('-')}", "-99999", "99999"]
        near += [f"{answer[0]}.{answer[1:]}"] if len(answer) > 3 else []
        near += [_turned(answer)] if int(answer) else []
        near += [answer[0]] if len(answer) > 1 and answer[0] != "-" else []
        return [*near, f"{int(answer) + 1}"]
    if re.fullmatch(r"-?\d*\.\d+", answer):
        near = [f"{float(answer) + one:g}" for one in (1, 0.3, -0.3)]  # far for any tolerance, near for a rounding
        return [*near, "-99999", "99999", _turned(answer)]
    if len(answer) == 1:
        return [letter for letter in "BCDA" if letter != answer.upper()]
    return [f"{answer}x", f"x{answer}", answer[:-1]]


def _near_by(said: str, answer: str) -> bool:
    """Whether the numbers differ by so little that a tolerance explains their equal scores."""
    try:
        return abs(float(said) - float(answer)) <= TOLERATED * abs(float(answer))
    except ValueError:
        return False


def _turned(answer: str) -> str:
    return answer[1:] if answer.startswith("-") else f"-{answer}"


def _apart(said: str, answer: str) -> bool:
    """Whether neither text holds the other: no leniency of searching explains equal scores."""
    turned = re.fullmatch(r"-?\d+(\.\d+)?", answer) is not None and said == _turned(answer)
    return turned or (said not in answer and answer not in said)


def _mistake(said: str, answer: str) -> str:
    if said == _turned(answer):
        return "the sign is lost"
    if answer in said:
        return "the right answer inside another one counts"
    return "a part of the right answer counts" if said in answer else "another number counts"
