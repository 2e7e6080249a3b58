"""A rewarded form stays rewarded when the reasoning before the answer gets lines, grows or shrinks, or when text with
braces follows it."""

from collections.abc import Callable

from rlprobe.verifier.function import RaisedError
from rlprobe.verifier.measure.forms import USUAL, Form, tags
from rlprobe.verifier.measure.gold import Gold
from rlprobe.verifier.measure.judging import each
from rlprobe.verifier.outcome import Check, Outcome, failed, passed, warned
from rlprobe.verifier.rewarding import Sample
from rlprobe.verifier.subject import Subject

LINES = "First I add the parts.\n\nThen I check:\n- the sum\n- the sign"
BRACES = "Let $f(x) = {x}$ with x > 3 and x < 7 in {5, 6}; [then] 30% is (not) enough."
LONG = "I add the parts and check the sum again. " * 10
FENCE = "```"
ENDINGS = ("<|", "</s>", "<eos>", "[EOS]", "<end_of_turn>")
CHECK = Check(
    id="V106",
    title="reasoning and line breaks around a rewarded form do not cost it",
    formula='score(reasoning + "\\n" + form) = score(form)',
    stage="reward",
    category="string processing",
    needs=("reward",),
    fix="Search instead of match, let the dot match newlines (re.DOTALL), or make the group lazy; keep the pattern.",
    causes=("FORMAT_LOSS", "REWARD_CONSTANT", "REWARD_TEXT_MISMATCH"),
)


def run(subject: Subject) -> Outcome:
    """Variants of the rewarded form, each with the fault that would explain its loss."""
    return each(subject, _judged)


def _judged(gold: Gold) -> Outcome:
    form = gold.form
    if gold.kind not in ("answer", "format") or form is None:
        return _fenced(gold)
    marker = _lost_marker(gold)
    if marker:
        return _failed(gold, gold.saying(gold.answer, form=marker), f"the usual form {marker('42')!r:.80}", "")
    ending = next((one for one in ENDINGS if one in gold.gold.completion), "")
    if ending:
        text = gold.gold.completion[: gold.gold.completion.index(ending)]
        why = f"the form without the token that ends a text ({gold.gold.completion[-14:]!r})"
        return _failed(gold, gold.gold.saying(text), why, "asks for a special token that decoding removes")
    if _answer_first(gold):
        return _failed(gold, gold.saying(gold.answer, form=USUAL[2]), "the reasoning before the answer", "order turned")
    if form.alone:
        return _alone(gold, form)
    for reasoning, what, mistake in (
        (LINES, "reasoning of several lines", "the dot does not match a newline"),
        (BRACES, "reasoning with braces, signs and numbers", "takes the first brace or number"),
        ("Yes.", "short reasoning", "cut at a fixed place"),
        (LONG, "longer reasoning", "cut at a fixed place"),
    ):
        sample = gold.saying(gold.answer, reasoning=reasoning)
        if not _kept(gold, sample):
            told = warned if reasoning == BRACES and gold.running_text and not _first_counts(gold) else failed
            return _failed(gold, sample, what, mistake, tell=told)
    return _thought(gold, form) or _braces(gold)


def _thought(gold: Gold, form: Form) -> Outcome | None:
    """Code that looks for the end of reasoning scores what comes after it."""
    text = form(gold.answer)
    if gold.kind != "answer" or not gold.reading.mentions("</think>") or "think>" in text:
        return None
    for inside, what in (("So.", "reasoning in tags before it"), (form(gold.other), "a wrong answer in the reasoning")):
        sample = gold.gold.saying(f"<think>{inside}</think>\n{text}")
        if not _kept(gold, sample):
            return _failed(gold, sample, what, "scores the reasoning")
    return None


def _answer_first(gold: Gold) -> bool:
    """Whether only a text whose answer stands before its reasoning is rewarded."""
    text = gold.gold.completion
    middle = (gold.gold_score + gold.wrong_score) / 2
    usual = [
        high
        for form, high, _ in gold.tried
        if "</think>" in (said := form("42")) and said.rstrip().endswith("</answer>")
    ]
    return 0 <= text.find("</answer>") < text.find("<think>") and all(high <= middle for high in usual)


def _lost_marker(gold: Gold) -> Form | None:
    """A usual form with a marker that the source names, where only another spelling of it is rewarded."""
    if gold.kind != "answer" or len(tags(gold.reading)) > 1:
        return None
    scored = {form.name: high for form, high, _ in gold.tried}
    for marker in ("boxed", "####"):
        family = [form for form in USUAL if form.marker == marker and form.name in scored]
        if gold.reading.mentions(marker) and family:
            best = max(family, key=lambda form: scored[form.name])
            if scored[best.name] <= (gold.gold_score + gold.wrong_score) / 2:
                return best
    return None


def _first_counts(gold: Gold) -> bool:
    """Whether numbers after the answer cost nothing: it is the first number that is taken."""
    return _kept(gold, gold.gold.saying(f"{gold.gold.completion}\n{BRACES}"))


def _fenced(gold: Gold) -> Outcome:
    """A gold completion of the data set that holds a block of code: words around it are how models write."""
    text = gold.gold.completion
    if gold.kind != "given" or gold.inverted or FENCE not in text:
        return passed("nothing in the source names a form")
    for said, what in (
        (f"{text}\n\nThis gives the result.", "words after"),
        (f"Here it is.\n\n{text}", "words before"),
    ):
        if not _kept(gold, gold.gold.saying(said)):
            return _failed(gold, gold.gold.saying(said), f"{what} its block of code", "matches the whole text")
    return passed()


def _alone(gold: Gold, form: Form) -> Outcome:
    """The marker scores as the whole text: it has to with reasoning before it."""
    longer = [one for one in USUAL if one.marker == form.marker and not one.alone]
    if not form.marker or not longer:
        return passed("the answer is the whole text")
    sample = gold.saying(gold.answer, form=longer[0])
    if any(_kept(gold, gold.saying(gold.answer, form=one)) for one in longer):
        return passed()
    return _failed(gold, sample, "reasoning before the answer", "matches at the start of the text alone")


def _braces(gold: Gold) -> Outcome:
    text = gold.gold.completion
    plain, braces = gold.gold.saying(f"{text} That is all."), gold.gold.saying(f"{text} That is {{all}}, and ${{x}}$.")
    if "boxed" in text and _kept(gold, plain) and not _kept(gold, braces):
        return _failed(gold, braces, "later text with braces", "greedy group")
    return passed()


def _kept(gold: Gold, sample: Sample) -> bool:
    try:
        return gold.rewarded(sample)
    except RaisedError:
        return False


def _failed(gold: Gold, sample: Sample, what: str, mistake: str, *, tell: Callable[..., Outcome] = failed) -> Outcome:
    try:
        got = f"{gold.score(sample):.4g}"
    except RaisedError as error:
        got = error.told
    return tell(
        gold.reward.slot,
        f"{gold.reward.name} scores {gold.gold_score:.4g} for a rewarded completion and {got} with {what}.",
        expected=f"{gold.gold_score:.4g}",
        got=got,
        example=gold.reward.example([sample]),
        fingerprint=mistake,
    )
