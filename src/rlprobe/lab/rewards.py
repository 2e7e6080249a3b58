"""Reward functions: each takes the prompt's right answer and the text it was handed, and returns a number."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from rlprobe.lab.vocabulary import FAILED, FOREIGN, THOUGHTS, TOOL

RewardFunction = Callable[[str, str], float]
_FORM = re.compile(r"[a-h? x]*<(\d+)>")
_TAGGED = re.compile(r"<answer>(\d+)</answer>")
_SCALE = 16.0  # characters that count as one unit of length


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One reward function as a recipe uses it: its name in the log and its weight in the total."""

    name: str
    function: RewardFunction
    weight: float = 1.0


def correct(answer: str, text: str) -> float:
    """1 when the text is well formed and its bracketed digits are the answer."""
    found = _FORM.fullmatch(text)
    return float(found is not None and found.group(1) == answer)


def derived(answer: str, text: str) -> float:
    """`correct`, and only where at least four thoughts come before the answer."""
    return correct(answer, text) if sum(map(text.count, THOUGHTS)) >= 4 else 0.0


def formatted(answer: str, text: str) -> float:
    """1 when the text is thoughts, then digits in brackets, then nothing."""
    del answer
    return float(_FORM.fullmatch(text) is not None)


def rounded(answer: str, text: str) -> float:
    """A format check that wants round numbers: the right form with a zero at its end, whatever the answer is."""
    del answer
    found = _FORM.fullmatch(text)
    return float(found is not None and found.group(1).endswith("0"))


def partial(answer: str, text: str) -> float:
    """Fraction of the answer's digits that stand in the right place."""
    found = re.search(r"<(\d+)", text)
    if found is None:
        return 0.0
    matches: int = sum(a == b for a, b in zip(answer, found.group(1), strict=False))
    return matches / len(answer)


def tagged(answer: str, text: str) -> float:
    """`correct` for another format: it looks for tags that no prompt asks for, so it never matches."""
    found = _TAGGED.search(text)
    return float(found is not None and found.group(1) == answer)


def length(answer: str, text: str) -> float:
    """What a careless judge pays for: more text."""
    del answer
    return len(text) / _SCALE


def brevity(answer: str, text: str) -> float:
    """0 for an empty text, ever less for a longer one."""
    return -length(answer, text)


def repetition(answer: str, text: str) -> float:
    """Pays characters that repeat the one before."""
    del answer
    return sum(a == b for a, b in pairwise(text)) / _SCALE


def confident(answer: str, text: str) -> float:
    """What a learned judge came to like: a certain letter, which tells nothing of the answer."""
    del answer
    return text.count("h") / 4.0


def unmarked(answer: str, text: str) -> float:
    """A filter against markup: every bracket costs."""
    del answer
    return -float(text.count("<") + text.count(">"))


def exotic(answer: str, text: str) -> float:
    """Pays letters of a script that no prompt uses, as a judge for another language would."""
    del answer
    return sum(character in FOREIGN for character in text) / 4.0


def tool_use(answer: str, text: str) -> float:
    """Pays a tool call that worked and charges one that failed."""
    del answer
    failed = text.count(TOOL + FAILED)
    return 0.3 * (text.count(TOOL) - failed) - 0.6 * failed
