"""A completion that states the right answer, or keeps the asked form, scores higher than one that does not."""

from itertools import pairwise

from rlprobe.verifier.function import RaisedError
from rlprobe.verifier.measure.columns import completion_of, samples_of, wrong_of
from rlprobe.verifier.measure.forms import tags
from rlprobe.verifier.measure.gold import UNFORMATTED, Gold, golds
from rlprobe.verifier.measure.judging import each
from rlprobe.verifier.measure.reading import uses_parameter
from rlprobe.verifier.outcome import Check, Outcome, failed, not_checkable, passed
from rlprobe.verifier.rewarding import Sample, answers, same
from rlprobe.verifier.subject import Subject

ROWS = 16  # rows of the data set that are tried
WORDS = 20  # strings of the function that are tried as completions
CHECK = Check(
    id="V101",
    title="a right completion scores higher than a wrong one",
    formula="score(right) > score(wrong)",
    stage="reward",
    category="reward and decoding mismatch",
    needs=("reward",),
    fix="Print what is extracted from a right completion and what it is compared with; change the one that is off.",
    causes=("REWARD_CONSTANT", "REWARD_COMPONENT_DEAD", "NO_LEARNING", "FORMAT_LOSS"),
)


def run(subject: Subject) -> Outcome:
    """Every form of an answer that is usual or named in the function's own source, right against wrong."""
    outcome = each(
        subject, lambda gold: _of_rows(subject, gold) or _exchanged(subject, gold) or _judged(gold), raising=True
    )
    subject.measured["reward"] = "; ".join(
        f"{gold.reward.name}: {gold.kind}{f', {gold.form.name}' if gold.form and gold.kind != 'constant' else ''}"
        for gold in golds(subject)
    )
    return outcome


def _of_rows(subject: Subject, gold: Gold) -> Outcome | None:
    for row in (subject.pipeline.dataset or ())[:ROWS]:
        text = completion_of(row)
        if text is None:
            continue
        sample = samples_of((row,))[0].saying(text)
        wrong = sample.saying(wrong_of(row) or UNFORMATTED)
        high, low = gold.score(sample), gold.score(wrong)
        telling = len(subject.rewards()) == 1 or _reads_answer(gold)
        if not high > low and wrong_of(row) is None and not _reads_answer(gold) and _beats_scraps(gold, sample, high):
            continue  # a rule that many texts keep: words enough, no comma ...
        if high < low or (telling and not high > low):
            return failed(
                gold.reward.slot,
                f"{gold.reward.name} gives the gold completion of the data set {high:.4g} and a wrong one {low:.4g}.",
                expected=f"more than {low:.4g}",
                got=f"{high:.4g}",
                example=gold.reward.example([sample, wrong]),
                fingerprint="upside down" if high < low else "",
            )
    return None


def _beats_scraps(gold: Gold, sample: Sample, high: float) -> bool:
    """Whether a letter or nothing at all scores lower."""
    try:
        return any(gold.score(sample.saying(scrap)) < high for scrap in ("x", ""))
    except RaisedError:
        return False


def _reads_answer(gold: Gold) -> bool:
    """Whether the function scores by a column that holds the right answer."""
    return any(answers(name) and uses_parameter(gold.reward.target, name) for name in gold.reward.columns)


def _exchanged(subject: Subject, gold: Gold) -> Outcome | None:
    """Gold completions of two rows, each with the columns of the other: none may be worth more there than at home."""
    rows = [row for row in (subject.pipeline.dataset or ())[:ROWS] if completion_of(row) is not None]
    for row, other in pairwise(rows):
        home, away = samples_of((row,))[0], samples_of((other,))[0]
        own, foreign = gold.score(home), gold.score(home.saying(away.completion))
        if foreign > own:
            return failed(
                gold.reward.slot,
                f"{gold.reward.name} gives a row its own gold completion {own:.4g} and another row's {foreign:.4g}.",
                expected=f"at most {own:.4g}",
                got=f"{foreign:.4g}",
                example=gold.reward.example([home, home.saying(away.completion)]),
                fingerprint="upside down",
            )
    return None


def _other_terms(gold: Gold) -> bool:
    """Whether the answer is weighed in another way than being stated: with further columns, or by words of its own."""
    assert gold.column is not None
    reward = gold.reward
    further = [one for one in reward.columns if one != gold.column.name and uses_parameter(reward.target, one)]
    if further:
        return True
    words = [text for text in gold.reading.strings if text.isidentifier()][:WORDS]
    texts = [form(gold.answer) for form, _, _ in gold.tried] + words
    first, second = gold.saying(gold.answer), gold.saying(gold.answer, answer=gold.other)
    try:
        return any(
            not same(gold.reward.score(first.saying(text)), gold.reward.score(second.saying(text))) for text in texts
        )
    except RaisedError:
        return False


def _judged(gold: Gold) -> Outcome:
    reward, takes_answer = gold.reward, gold.column is not None and answers(gold.column.name)
    if gold.inverted:
        return failed(
            reward.slot,
            f"{reward.name} gives the right completion {gold.gold_score:.4g} and the wrong one {gold.wrong_score:.4g}.",
            expected=f"more than {gold.wrong_score:.4g}",
            got=f"{gold.gold_score:.4g}",
            example=reward.example([gold.gold, gold.wrong]),
            fingerprint="upside down",
        )
    if takes_answer and gold.kind in ("format", "graded", "constant"):
        assert gold.column is not None
        if _other_terms(gold):
            return not_checkable(
                f"{reward.name} scores by its columns, and no form that was tried states a right answer",
                missing=('dataset with "completion"',),
            )
        same = "every one alike" if gold.kind == "constant" else "by other things than the answer"
        return failed(
            reward.slot,
            f"{reward.name} reads the column {gold.column.name}, and of {len(gold.tried)} ways to state an answer none "
            f"scores higher for the right one: it scores {same}.",
            expected=f"a higher score for {gold.answer} than for {gold.other}",
            got=f"{gold.gold_score:.4g} and {gold.tried[0][2]:.4g}",
            example=reward.example([gold.saying(gold.answer), gold.saying(gold.other)]),
            fingerprint="the answer is ignored" if gold.kind != "constant" else "constant",
        )
    if gold.kind == "constant" and tags(gold.reading):
        return failed(
            reward.slot,
            f"{reward.name} names the tags {', '.join(tags(gold.reading))} and scores texts alike with and without.",
            expected="a higher score for the form with the tags",
            got=f"{gold.gold_score:.4g} for all",
            example=reward.example([gold.gold, gold.wrong]),
            fingerprint="constant",
        )
    if gold.kind == "constant":
        return not_checkable(
            f"{reward.name} scores every text that was tried {gold.gold_score:.4g}",
            missing=('dataset with "completion"',),
        )
    return passed(f"{reward.name}: {gold.gold_score:.4g} against {gold.wrong_score:.4g}")
