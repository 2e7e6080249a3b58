"""A form of which a tag is missing does not score as the whole form."""

import re

from rlprobe.verifier.measure.gold import Gold
from rlprobe.verifier.measure.judging import each
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, passed
from rlprobe.verifier.subject import Subject

_TAG = re.compile(r"</?[A-Za-z_][\w-]*>")
CHECK = Check(
    id="V117",
    title="a form with a missing tag does not score as the whole",
    formula="score(form without a tag) < score(form)",
    stage="reward",
    category="reward and decoding mismatch",
    needs=("reward",),
    fix="Ask for every tag: join the conditions by `and`, make no closing tag optional.",
    causes=("FORMAT_GAMING", "TRUNCATION_STARVE"),
)


def run(subject: Subject) -> Outcome:
    """The rewarded form with one tag taken out, for functions that score the form alone."""
    return each(subject, _judged)


def _judged(gold: Gold) -> Outcome:
    if gold.kind != "format" or gold.form is None or gold.inverted:
        return not_applicable("it does not score a form")
    if gold.score(gold.saying("words")) < gold.gold_score:
        return not_applicable("it scores what stands between the tags")
    text = gold.gold.completion
    named = [tag for tag in _TAG.findall(text) if gold.reading.mentions(tag)]
    for tag in named:
        sample = gold.gold.saying(text.replace(tag, "", 1))
        score = gold.score(sample)
        if score >= gold.gold_score:
            return failed(
                gold.reward.slot,
                f"{gold.reward.name} gives {score:.4g} to the form without {tag}, as to the whole form.",
                expected=f"less than {gold.gold_score:.4g}",
                got=f"{score:.4g}",
                example=gold.reward.example([sample]),
                fingerprint=f"{tag} is not asked for",
            )
    return passed()
