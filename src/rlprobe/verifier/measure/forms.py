"""Forms in which a completion can state its answer: the usual ones, and those that a reward's own source names."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from rlprobe.verifier.measure.patterns import example_of
from rlprobe.verifier.measure.reading import Reading

REASONING = "First I add the parts, then I check the sum."
LONGEST_MARKER = 40  # characters of a string that is taken for a marker before the answer
MOST_MARKERS = 12
LONGEST_TAG = 20  # characters of a name


@dataclass(frozen=True, slots=True)
class Form:
    """One way to state an answer.

    Attributes:
        name: how it is shown.
        marker: text that only this family of forms has; "" for the plain ones.
        build: (reasoning, answer) -> completion.
        alone: whether the marker with the answer is the whole text, without reasoning before it.
    """

    name: str
    marker: str
    build: Callable[[str, str], str]
    alone: bool = False

    def __call__(self, answer: str, reasoning: str = REASONING) -> str:
        """The completion."""
        return self.build(reasoning, answer)


def _form(name: str, marker: str, pattern: str) -> Form:
    def build(reasoning: str, answer: str) -> str:
        return pattern.replace("@R", reasoning).replace("@A", answer)

    return Form(name, marker, build, alone="@R" not in pattern)


# @R the reasoning, @A the answer. The first of equals is the one that is shown.
USUAL: tuple[Form, ...] = (
    _form("boxed", "boxed", "@R\nThe answer is \\boxed{@A}."),
    _form("hashes", "####", "@R\n#### @A"),
    _form("think, answer", "<answer>", "<think>@R</think><answer>@A</answer>"),
    _form("think, answer on lines of their own", "<answer>", "<think>\n@R\n</think>\n<answer>\n@A\n</answer>"),
    _form("think, answer, a line each", "<answer>", "<think>@R</think>\n<answer>@A</answer>"),
    _form("reasoning, answer", "<answer>", "<reasoning>\n@R\n</reasoning>\n<answer>\n@A\n</answer>\n"),
    _form("answer tag", "<answer>", "@R\n<answer>@A</answer>"),
    _form("think, boxed", "boxed", "<think>@R</think>\nThe answer is \\boxed{@A}."),
    _form("think, boxed in the answer", "boxed", "<think>@R</think><answer>\\boxed{@A}</answer>"),
    _form("think, plain", "<think>", "<think>@R</think>@A"),
    _form("think, plain on a new line", "<think>", "<think>\n@R\n</think>\n@A"),
    _form("solution tag", "<solution>", "@R\n<solution>@A</solution>"),
    _form("sentence", "answer is", "@R The answer is @A."),
    _form("sentence without a dot", "answer is", "@R The answer is @A"),
    _form("final answer", "answer", "@R\nFinal answer: @A"),
    _form("Answer:", "answer", "@R\nAnswer: @A"),
    _form("fenced code", "```", "@R\n```python\n@A\n```"),
    _form("fenced", "```", "@R\n```\n@A\n```"),
    _form("JSON", '"answer"', '{"answer": "@A"}'),
    _form("JSON number", '"answer"', '{"answer": @A}'),
    _form("double brackets", "[[", "@R [[@A]]"),
    _form("last line", "", "@R\n@A"),
    _form("boxed alone", "boxed", "\\boxed{@A}"),
    _form("hashes alone", "####", "#### @A"),
    _form("answer tag alone", "<answer>", "<answer>@A</answer>"),
    _form("answer alone", "", "@A"),
)
_TAG = re.compile(r"<([A-Za-z_|][\w|:-]*)>")


def forms(reading: Reading) -> tuple[Form, ...]:
    """Every form worth trying on a function: the usual ones and those of its own strings, no two equal."""
    found = list(USUAL)
    found += _of_tags(reading)
    found += _of_patterns(reading)
    found += _of_markers(reading)
    seen: dict[str, Form] = {}
    for one in found:
        seen.setdefault(one("42"), one)
    return tuple(seen.values())


def tags(reading: Reading) -> tuple[str, ...]:
    """Names of tags that the function's strings open, in order of appearance."""
    found = [name for text in reading.strings for name in _TAG.findall(text)]
    if any(text.endswith("</") for text in reading.strings):  # f"<{tag}>": the name is another string
        found += [text for text in reading.strings if text.isidentifier() and len(text) <= LONGEST_TAG]
    return tuple(dict.fromkeys(name for name in found if not name.startswith("|")))


def _of_tags(reading: Reading) -> Iterator[Form]:
    names = tags(reading)
    for name in names[:4]:
        yield _form(f"<{name}>", f"<{name}>", f"@R\n<{name}>@A</{name}>")
    for first, last in pairwise(names[:4]):
        for gap, inner in (("", ""), ("\n", ""), ("\n", "\n")):
            text = f"<{first}>{inner}@R{inner}</{first}>{gap}<{last}>{inner}@A{inner}</{last}>"
            yield _form(f"<{first}>, <{last}>", f"<{last}>", text)
    if len(names) == 1:
        yield _form(f"<{names[0]}> before", f"<{names[0]}>", f"<{names[0]}>@R</{names[0]}>\n@A")


def _of_markers(reading: Reading) -> Iterator[Form]:
    short = [text for text in reading.strings if 2 <= len(text) <= LONGEST_MARKER and not text.isidentifier()]
    for text in short[:MOST_MARKERS]:
        yield _form(f"after {text!r}", text, f"@R\n{text}@A")
        yield _form(f"after {text!r} and a blank", text, f"@R\n{text} @A")
        yield _form(f"after {text!r}, closed", text, f"@R\n{text}@A{'}' * text.count('{')}{']' * text.count('[')}")


def _of_patterns(reading: Reading) -> Iterator[Form]:
    for text in reading.strings:
        if not set(text) & set("()*+\\[") or "%" in text:
            continue
        example = example_of(text)
        if example is not None:
            yield _form(f"text for the pattern {text!r:.60}", text, example)
