"""Each right answer of the data set, stated word for word in the rewarded form, earns the reward."""

import math

from rlprobe.verifier.measure.columns import answer_columns, samples_of
from rlprobe.verifier.measure.gold import Gold
from rlprobe.verifier.measure.judging import each
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, passed
from rlprobe.verifier.rewarding import answers
from rlprobe.verifier.subject import Subject

ROWS = 16
VERBATIM = (("Paris", "paris"), ("B", "b"))  # (spelt with a capital, without)
CHECK = Check(
    id="V113",
    title="every right answer can earn the reward",
    formula="score(form(answer)) = score(right), for every answer of the data set",
    stage="reward",
    category="string processing",
    needs=("reward",),
    fix="Normalise both sides of the comparison by the same function.",
    causes=("REWARD_CONSTANT", "DEGENERATE_GROUPS"),
)


def run(subject: Subject) -> Outcome:
    """The answers of the data set; without one, an answer with a capital where the same without it is right."""

    def judged(gold: Gold) -> Outcome:
        if gold.kind != "answer" or gold.column is None or gold.form is None or gold.inverted:
            return not_applicable("it compares with no answer")
        return _of_rows(subject, gold) or _of_case(gold) or passed()

    return each(subject, judged)


def _of_rows(subject: Subject, gold: Gold) -> Outcome | None:
    assert gold.column is not None
    assert gold.form is not None
    if not answers(gold.column.name):
        return None
    for row in (subject.pipeline.dataset or ())[:ROWS]:
        columns = [one for one in answer_columns(gold.reward, (row,)) if one.name == gold.column.name]
        if not columns:
            continue
        answer = columns[0].pairs[0][0]
        sample = samples_of((row,))[0].saying(gold.form(answer))
        if not math.isnan(gold.score(sample)) and not gold.rewarded(sample):  # None: another function's row
            return _failed(gold, answer, f"{gold.score(sample):.4g}", gold.form(answer), row.get(gold.column.name))
    return None


def _of_case(gold: Gold) -> Outcome | None:
    assert gold.column is not None
    assert gold.form is not None
    for capital, small in VERBATIM:
        try:
            value = gold.column.write(capital)
            plain, spelt = gold.saying(small, answer=small), gold.saying(capital, answer=capital)
        except (ValueError, TypeError):
            return None
        if gold.rewarded(plain) and not gold.rewarded(spelt):
            return _failed(gold, capital, f"{gold.score(spelt):.4g}", gold.form(capital), value)
    return None


def _failed(gold: Gold, answer: str, got: str, text: str, value: object) -> Outcome:
    assert gold.column is not None
    return failed(
        gold.reward.slot,
        f"{gold.reward.name} scores {got} for the right answer {answer!r}, stated as the column states it; "
        f"{gold.gold_score:.4g} for {gold.answer!r}.",
        expected=f"{gold.gold_score:.4g}",
        got=got,
        example={"completions": [text], gold.column.name: [value]},
        fingerprint="one side of the comparison is normalised",
    )
