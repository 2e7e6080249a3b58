"""Forms in which a completion can state its answer: the usual ones, and those that a reward's own source names."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

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
_PIECES = re.compile(
    r"""\\[AbBZ]|[\^$]|\(\?[:a-zA-Z<!=]|\((?!\?)|\)|\[\^?\]?(?:\\.|[^\]])*\]|\\.|\{\d*,?\d*\}|[*+?]+|\||.""", re.DOTALL
)


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


def example_of(pattern: str) -> str | None:
    """A text that the pattern finds, its last group as @A and what else it leaves open as @R; None where that fails.

    The pattern is not run against anything but this text of ours.
    """
    try:
        compiled = re.compile(pattern, re.DOTALL)
    except (re.error, OverflowError):
        return None
    example = _unfolded(pattern)
    filled = example.replace("@R", REASONING)
    for answer in ("42", "B", "word"):
        if compiled.search(filled.replace("@A", answer)):
            return example
    return None


def _unfolded(pattern: str) -> str:
    """The pattern with its groups and classes replaced by placeholders: enough for patterns as rewards have them."""
    pieces = _PIECES.findall(pattern)
    written: list[str] = []
    depth, groups = 0, pattern.count("(") - pattern.count("\\(") - pattern.count("(?")
    seen = 0
    for index, piece in enumerate(pieces):
        if piece == "(":
            depth += 1
            seen += 1
            if depth == 1:
                written.append("@A" if seen >= groups else "@R")
        elif piece.startswith("(?"):
            depth += 1
        elif piece == ")":
            depth -= 1
        elif depth == 0:
            written.append(_plain(piece, pieces[index + 1] if index + 1 < len(pieces) else ""))
    return "".join(written)


def _plain(piece: str, following: str) -> str:
    optional = following[:1] in ("*", "?") and following[:1] != ""
    if piece in ("^", "$", "\\b", "\\A", "\\Z", "\\B") or piece[0] in "*+?" or re.fullmatch(r"\{\d*,?\d*\}", piece):
        return ""
    if piece == ".":
        return "@R" if following[:1] in "*+" and following else "x"
    if piece == "\\n":
        return "\n"
    if piece in ("\\s", "\\d", "\\w", "\\S", "\\D", "\\W"):
        return "" if optional else {"\\s": " ", "\\d": "@A", "\\w": "word", "\\S": "x"}.get(piece, "x")
    if piece.startswith("[") and len(piece) > 2:
        return "" if optional else "@A" if "0-9" in piece or "\\d" in piece else "x"
    if optional:
        return ""
    return piece[1:] if piece.startswith("\\") and len(piece) == 2 else piece
