"""The grammar of sample expressions such as `reward > 0.9 and completion_tokens > 500`. Parsed here, never evaluated.

either    = both {"or" both}
both      = negated {"and" negated}
negated   = "not" negated | compared
compared  = sum {("<" | "<=" | ">" | ">=" | "==" | "!=") sum} | sum ["not"] "in" (list | sum)
sum       = product {("+" | "-") product}
product   = signed {("*" | "/" | "%") signed}
signed    = "-" signed | value
value     = number | text | "true" | "false" | name | function "(" either {"," either} ")" | "(" either ")"
list      = ("(" | "[") either {"," either} (")" | "]")
"""

from collections.abc import Collection
from typing import NoReturn

from rlprobe.forensics.syntax import (
    FUNCTIONS,
    Among,
    Call,
    Expression,
    Literal,
    Name,
    Node,
    Number,
    Pair,
    Signed,
    Truth,
)
from rlprobe.forensics.tokens import ExpressionError, Token, tokens

DEEPEST = 32  # levels of brackets, negations and signs
MOST_PARTS = 250  # values and operators of one expression; with DEEPEST it bounds how deep anything recurses
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
_ARGUMENTS = {"matches": 2}


def parse(text: str, known: Collection[str] = ()) -> Expression:
    """The expression that a text holds.

    Args:
        text: what the user wrote.
        known: columns that exist; "reward/format" without spaces is the column of that name where there is one.

    Raises:
        ExpressionError: it is none; the message says what was expected, and where.
    """
    reader = _Parser(text, tokens(text), known)
    root = reader.either()
    if reader.next.kind != "end":
        reader.refuse("expected an operator or the end")
    return Expression(text=text, root=root)


class _Parser:
    """Reads words from left to right; each method returns the part that begins at the next word."""

    def __init__(self, text: str, words: list[Token], known: Collection[str]) -> None:
        self._text, self._words, self._known = text, words, known
        self._place = self._depth = self._parts = 0

    @property
    def next(self) -> Token:
        return self._words[self._place]

    def refuse(self, expected: str) -> NoReturn:
        """Complain of the next word."""
        got = "the end" if self.next.kind == "end" else repr(self._text[self.next.start : self.next.end][:40])
        raise ExpressionError(f"{expected}, got {got}.", self._text, self.next.start)

    def either(self) -> Node:
        """Parts joined by "or"."""
        left = self._both()
        while (word := self._taken("or")) is not None:
            left = self._pair("or", left, self._both(), word)
        return left

    def _both(self) -> Node:
        left = self._negated()
        while (word := self._taken("and")) is not None:
            left = self._pair("and", left, self._negated(), word)
        return left

    def _negated(self) -> Node:
        word = self._taken("not")
        if word is None:
            return self._compared()
        self._deeper(word)
        part = self._negated()
        self._depth -= 1
        return Signed(sign="not", part=part, at=word.start)

    def _compared(self) -> Node:
        left = self._sum()
        negation = self.next
        if negation.value == "not" and self._words[self._place + 1].value == "in":
            self._place += 1
            return Signed(sign="not", part=self._among(left), at=negation.start)
        if self.next.kind == "word" and self.next.value == "in":
            return self._among(left)
        chain: Node | None = None
        while (word := self._taken(*COMPARISONS)) is not None:
            right = self._sum()
            link = self._pair(word.value, left, right, word)
            chain = link if chain is None else self._pair("and", chain, link, word)
            left = right
        return left if chain is None else chain

    def _among(self, part: Node) -> Node:
        word = self._taken("in")
        assert word is not None
        opening = self._taken("(", "[")
        if opening is None:
            return self._pair("in", part, self._sum(), word)
        closing = ")" if opening.value == "(" else "]"
        options = self._listed(closing, opening)
        if len(options) == 1 and closing == ")" and not isinstance(options[0], Number | Literal | Truth | Signed):
            return self._pair("in", part, options[0], word)  # brackets around one text are no list
        return Among(part=part, options=options, at=word.start)

    def _listed(self, closing: str, opening: Token) -> tuple[Node, ...]:
        self._deeper(opening)
        options = [self.either()]
        while self._taken(",") is not None:
            options.append(self.either())
        self._close(closing)
        return tuple(options)

    def _sum(self) -> Node:
        left = self._product()
        while (word := self._taken("+", "-")) is not None:
            left = self._pair(word.value, left, self._product(), word)
        return left

    def _product(self) -> Node:
        left = self._signed()
        while (word := self._taken("*", "/", "%")) is not None:
            left = self._pair(word.value, left, self._signed(), word)
        return left

    def _signed(self) -> Node:
        word = self._taken("-")
        if word is None:
            return self._value()
        self._deeper(word)
        part = self._signed()
        self._depth -= 1
        return Signed(sign="-", part=part, at=word.start)

    def _value(self) -> Node:
        word = self.next
        self._count(word)
        if word.kind == "number":
            self._place += 1
            return Number(value=float(word.value), at=word.start)
        if word.kind == "text":
            self._place += 1
            return Literal(value=word.value, at=word.start)
        if word.kind == "word" and word.value in ("true", "false"):
            self._place += 1
            return Truth(value=word.value == "true", at=word.start)
        if word.kind == "name":
            return self._named()
        if self._taken("(") is not None:
            self._deeper(word)
            inside = self.either()
            self._close(")")
            return inside
        self.refuse("expected a column, a number, a text or a bracket")

    def _named(self) -> Node:
        word = self.next
        self._place += 1
        if self.next.value == "(" and self.next.kind == "sign":
            return self._call(word)
        name, end = word.value, word.end
        while (further := self._joined(name, end)) is not None:
            name, end, self._place = f"{name}/{further.value}", further.end, self._place + 2
        return Name(name=name, at=word.start)

    def _joined(self, name: str, end: int) -> Token | None:
        """The next part of a name with slashes, where a known column has that name."""
        if self.next.value != "/" or self.next.start != end:
            return None
        further = self._words[self._place + 1]
        longer = f"{name}/{further.value}"
        fits = further.start == self.next.end and further.kind in ("name", "word", "number")
        return further if fits and any(c == longer or c.startswith(longer + "/") for c in self._known) else None

    def _call(self, word: Token) -> Node:
        if word.value not in FUNCTIONS:
            known = ", ".join(FUNCTIONS)
            raise ExpressionError(f"expected a function ({known}), got {word.value[:40]!r}.", self._text, word.start)
        opening = self.next
        self._place += 1
        arguments = self._listed(")", opening)
        wanted = _ARGUMENTS.get(word.value, 1)
        if len(arguments) != wanted:
            told = f"expected {wanted} argument{'s' if wanted > 1 else ''} of {word.value}, got {len(arguments)}."
            raise ExpressionError(told, self._text, word.start)
        return Call(function=word.value, arguments=arguments, at=word.start)

    def _taken(self, *values: str) -> Token | None:
        """The next word, gone past, where it is one of these signs or words."""
        word = self.next
        if word.kind not in ("sign", "word") or word.value not in values:
            return None
        self._place += 1
        return word

    def _close(self, closing: str) -> None:
        if self._taken(closing) is None:
            self.refuse(f'expected "{closing}"')
        self._depth -= 1

    def _pair(self, sign: str, left: Node, right: Node, word: Token) -> Node:
        self._count(word)
        return Pair(sign=sign, left=left, right=right, at=word.start)

    def _deeper(self, word: Token) -> None:
        self._depth += 1
        if self._depth > DEEPEST:
            raise ExpressionError(f"expected at most {DEEPEST} levels of brackets.", self._text, word.start)

    def _count(self, word: Token) -> None:
        self._parts += 1
        if self._parts > MOST_PARTS:
            raise ExpressionError(f"expected at most {MOST_PARTS} parts.", self._text, word.start)
