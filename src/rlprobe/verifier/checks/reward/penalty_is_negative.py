"""A function that is named a penalty gives nothing above zero, and no more for what it punishes."""

import re

from rlprobe.verifier.declared import as_mapping
from rlprobe.verifier.measure.gold import Gold, each
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, passed
from rlprobe.verifier.subject import Subject

NAMED = re.compile(r"penal|punish|overlong", re.IGNORECASE)
OF_LENGTH = re.compile(r"length|overlong|too_long|repet", re.IGNORECASE)
TEXTS = ("", "Yes.", "word " * 30, "word " * 200, "word " * 2000, "one two three. " * 500)
CHECK = Check(
    id="V116",
    title="a penalty is at most zero",
    stage="reward",
    category="log-space signs",
    needs=("reward",),
    fix="Return the penalty with a minus sign, or give it a negative weight.",
    causes=("REWARD_HACK_LENGTH", "LENGTH_EXPLOSION", "REPETITION_SPIRAL"),
)


def run(subject: Subject) -> Outcome:
    """Texts from empty to 10,000 characters."""
    weights = as_mapping(subject.pipeline.config).get("reward_weights")
    if isinstance(weights, list | tuple) and any(isinstance(one, int | float) and one < 0 for one in weights):
        return not_applicable("a weight is negative")
    return each(subject, _judged)


def _judged(gold: Gold) -> Outcome:
    if not NAMED.search(gold.reward.name) or gold.kind == "answer":
        return not_applicable("no function is named a penalty")
    for text in TEXTS:
        sample = gold.gold.saying(text)
        score = gold.score(sample)
        if score > 0:
            return failed(
                gold.reward.slot,
                f"{gold.reward.name} gives {score:.4g} to a completion of {len(text)} characters: a penalty that pays.",
                expected="at most 0",
                got=f"{score:.4g}",
                example=gold.reward.example([sample]),
                fingerprint="sign turned",
            )
    scores = {gold.score(gold.gold.saying(text)) for text in TEXTS}
    if OF_LENGTH.search(gold.reward.name) and len(scores) == 1:
        return failed(
            gold.reward.slot,
            f"{gold.reward.name} gives {scores.pop():.4g} to every text from 0 to 10,000 characters.",
            expected="less for the longer ones",
            got="one value",
            example=gold.reward.example([gold.gold.saying(text[:60]) for text in TEXTS]),
            fingerprint="constant",
        )
    return passed()
