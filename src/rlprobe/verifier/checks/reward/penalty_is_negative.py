"""A function that is named a penalty gives nothing above zero, and no more for what it punishes."""

import re

from rlprobe.verifier.declared import as_mapping
from rlprobe.verifier.measure.gold import Gold
from rlprobe.verifier.measure.judging import each
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, passed
from rlprobe.verifier.subject import Subject

NAMED = re.compile(r"penal|punish|overlong", re.IGNORECASE)
OF_LENGTH = re.compile(r"length|overlong|too_long", re.IGNORECASE)
OF_REPETITION = re.compile(r"repet", re.IGNORECASE)
VARIED = " ".join(f"{number} is next to {number + 1}." for number in range(1500))  # 33,000 characters
# Dense, for a penalty that begins softly over the last fifth before a limit: each length is 1.15 times the one before.
LENGTHS = tuple(dict.fromkeys(int(1.15**power) for power in range(55)))
TEXTS = ("", "Yes.", *("word " * count for count in LENGTHS), "one two three. " * 500)
CHECK = Check(
    id="V116",
    title="a penalty is at most zero",
    formula="penalty(x) <= 0",
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
    return _against(gold) or passed()


def _against(gold: Gold) -> Outcome | None:
    """What is punished by name against what is not: the longest text against the shortest, one word against many."""
    pairs = []
    if OF_LENGTH.search(gold.reward.name):
        pairs.append(("a longer text", "Yes.", VARIED))
    if OF_REPETITION.search(gold.reward.name):
        pairs.append(("one word over and over", VARIED, "word " * 1500))
    for what, fine, punished in pairs:
        high, low = gold.score(gold.gold.saying(fine)), gold.score(gold.gold.saying(punished))
        if low >= high and not (low == high == 0 and len(pairs) > 1):
            return failed(
                gold.reward.slot,
                f"{gold.reward.name} gives {what} {low:.4g} and the other one {high:.4g}.",
                expected=f"less than {high:.4g}",
                got=f"{low:.4g}",
                example=gold.reward.example([gold.gold.saying(fine[:60]), gold.gold.saying(punished[:60])]),
                fingerprint="constant" if low == high else "sign turned",
            )
    return None
