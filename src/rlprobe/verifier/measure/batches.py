"""Batches of completions that differ in everything a reward function may look at."""

from rlprobe.verifier.measure.gold import UNFORMATTED, Gold
from rlprobe.verifier.rewarding import Sample

LONG = "The sum of the parts is checked once more, and then it is written down. "


def mixed(gold: Gold) -> list[Sample]:
    """Right and wrong, short and long, two answers in turns, no two neighbours alike; 7 rows."""
    answer, other = gold.answer, gold.other
    if gold.column is not None and gold.form is not None:
        return [
            gold.saying(answer),
            gold.saying(other, answer=other),
            gold.saying(other),
            gold.saying(other, answer=other, reasoning=LONG * 12),
            gold.saying(answer, answer=other),
            gold.saying(answer).saying(UNFORMATTED),
            gold.saying(answer, reasoning=LONG * 2),
        ]
    return [
        gold.gold,
        gold.wrong,
        gold.gold.saying(UNFORMATTED),
        gold.gold.saying(gold.gold.completion + "\n" + LONG),
        gold.gold.saying(LONG * 12),
        gold.gold,
        gold.gold.saying(f"{LONG}{gold.gold.completion}"),
    ]
