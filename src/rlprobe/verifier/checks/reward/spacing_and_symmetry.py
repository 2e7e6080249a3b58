"""Blanks and line breaks around an answer inside its tags do not cost it, and both sides are normalised alike."""

from rlprobe.verifier.function import RaisedError
from rlprobe.verifier.measure.forms import tags
from rlprobe.verifier.measure.gold import Gold
from rlprobe.verifier.measure.judging import each
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, passed, warned
from rlprobe.verifier.rewarding import Sample
from rlprobe.verifier.subject import Subject

PADDED = ("\n{}\n", " {} ")
CHECK = Check(
    id="V118",
    title="blanks around an answer do not cost it",
    formula="score(<tag> answer </tag>) = score(<tag>answer</tag>)",
    stage="reward",
    category="string processing",
    needs=("reward",),
    fix="Strip what was extracted before comparing it.",
    causes=("FORMAT_LOSS", "REWARD_CONSTANT"),
)


def run(subject: Subject) -> Outcome:
    """The right answer with blanks around it: in the completion, and in the column."""
    return each(subject, _judged)


def _judged(gold: Gold) -> Outcome:
    form = gold.form
    if gold.kind != "answer" or form is None or gold.column is None or gold.inverted:
        return not_applicable("it compares with no answer")
    tagged = any(f"<{name}>{gold.answer}</{name}>" in gold.gold.completion for name in tags(gold.reading))
    for padded in PADDED:
        said = gold.saying(padded.format(gold.answer))
        if "\n" in padded and form.marker == '"answer"':
            continue  # no JSON any more
        if _kept(gold, said):
            continue
        one_sided = _kept(gold, _padded_truth(gold, padded))
        if not tagged and not one_sided:
            return _told(warned, gold, said, "")
        return _told(failed, gold, said, "one side of the comparison is stripped" if one_sided else "not stripped")
    return passed()


def _padded_truth(gold: Gold, padded: str) -> Sample:
    assert gold.column is not None
    value = gold.column.write(gold.answer)
    if not isinstance(value, str):
        return gold.wrong
    columns = {**gold.gold.columns, gold.column.name: padded.format(value)}
    return Sample(completion=gold.gold.completion, prompt=gold.gold.prompt, columns=columns)


def _kept(gold: Gold, sample: Sample) -> bool:
    try:
        return gold.rewarded(sample)
    except RaisedError:
        return False


def _told(tell: object, gold: Gold, sample: Sample, mistake: str) -> Outcome:
    assert callable(tell)
    outcome: Outcome = tell(
        gold.reward.slot,
        f"{gold.reward.name} scores {gold.gold_score:.4g} for {gold.answer!r} and {gold.score(sample):.4g} for it "
        "with blanks around it.",
        expected=f"{gold.gold_score:.4g}",
        got=f"{gold.score(sample):.4g}",
        example=gold.reward.example([sample]),
        fingerprint=mistake,
    )
    return outcome
