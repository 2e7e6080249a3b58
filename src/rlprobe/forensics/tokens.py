"""The words of a sample expression: where each begins and ends, and what is wrong with a text that has none."""

import re
from dataclasses import dataclass
from typing import Literal

LONGEST = 4096  # characters of an expression
Kind = Literal["number", "text", "name", "word", "sign", "end"]
WORDS = frozenset(("and", "or", "not", "in", "true", "false"))

_TOKEN = re.compile(
    r"(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w.]))"
    r"|(?P<name>[^\W\d]\w*(?:\.\w+)*|`[^`]+`)"
    r"|(?P<text>\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*')"
    r"|(?P<sign><=|>=|==|!=|[-+*/%<>(),\[\]])",
    re.DOTALL,
)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "e": "\x1b", "0": "\0"}
_HINTS = {
    "=": 'Compare with "==".',
    "&": 'Write "and".',
    "|": 'Write "or".',
    "!": 'Write "not", or "!=" between two values.',
    "^": "Powers are not known here; multiply.",
}


class ExpressionError(ValueError):
    """What is wrong with an expression, in one line, and where.

    Attributes:
        problem: the sentence.
        text: the whole expression.
        position: index of the character that the caret points at.
    """

    def __init__(self, problem: str, text: str, position: int) -> None:
        super().__init__(problem)
        self.problem, self.text, self.position = problem, text, position


def pointed(error: ExpressionError, width: int = 76) -> str:
    """The expression on one line and a caret under the place; of a long one, what stands around the place."""
    text = "".join(character if character.isascii() and character.isprintable() else "?" for character in error.text)
    start = max(0, min(error.position - width // 2, len(text) - width))
    before, after = ("..." if start else ""), ("..." if start + width < len(text) else "")
    caret = " " * (len(before) + error.position - start) + "^"
    return f"  {before}{text[start : start + width]}{after}\n  {caret}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """One word: its kind, its value (a text without quotes and escapes), and where it stands."""

    kind: Kind
    value: str
    start: int
    end: int


def tokens(text: str) -> list[Token]:
    """The words of an expression; the last one is the end.

    Raises:
        ExpressionError: it holds something that is no word, or is too long.
    """
    if len(text) > LONGEST:
        raise ExpressionError(f"expected at most {LONGEST} characters, got {len(text)}.", text, LONGEST)
    found: list[Token] = []
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        match = _TOKEN.match(text, at)
        if match is None:
            raise ExpressionError(_unknown(text, at), text, at)
        found.append(_token(match))
        at = match.end()
    return [*found, Token(kind="end", value="", start=len(text), end=len(text))]


def _token(match: "re.Match[str]") -> Token:
    kind, value = str(match.lastgroup), match.group()
    if kind == "text":
        value = _ESCAPE.sub(_unescaped, value[1:-1])
    elif value.startswith("`"):
        value = value[1:-1]
    elif kind == "name" and value.lower() in WORDS:
        kind, value = "word", value.lower()
    return Token(kind=kind, value=value, start=match.start(), end=match.end())  # type: ignore[arg-type]  # the pattern's group names


def _unescaped(match: "re.Match[str]") -> str:
    code = match.group(1)
    if len(code) > 1:
        return chr(int(code[1:], 16))
    return _ESCAPED.get(code, code)


def _unknown(text: str, at: int) -> str:
    character = text[at]
    if character in "\"'`":
        return f"expected the end of the text that begins here, got none. Close it with {character}."
    if character.isdigit() or character == ".":
        return "expected a number, got something that only begins like one."
    return f"expected a name, number, text or sign, got {character!r}. {_HINTS.get(character, '')}".strip()
