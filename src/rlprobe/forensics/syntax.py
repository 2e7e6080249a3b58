"""The parts that a sample expression is made of, each with the place where it stands in the text."""

from dataclasses import dataclass

FUNCTIONS = {
    "abs": "the number without its sign",
    "log": "natural logarithm of a number",
    "exp": "e to the power of a number",
    "length": "characters of a text",
    "lower": "a text in lower case",
    "matches": "whether a text holds the regular expression (RE2) that follows it",
    "missing": "whether the sample has no such value",
    "nan": "whether the value was recorded as NaN",
    "repeated": "fraction of the sequences of four words that occurred before in a text",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """A number, or true and false as 1 and 0."""

    value: float
    at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Literal:
    """A text."""

    value: str
    at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """true or false."""

    value: bool
    at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    """A column or a measure."""

    name: str
    at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One of FUNCTIONS."""

    function: str
    arguments: "tuple[Node, ...]"
    at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Signed:
    """ "-" or "not" before a part."""

    sign: str
    part: "Node"
    at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two parts with an operator between them: arithmetic, a comparison, "and", "or", or "in" a text."""

    sign: str
    left: "Node"
    right: "Node"
    at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Among:
    """Whether a value is one of several."""

    part: "Node"
    options: "tuple[Node, ...]"
    at: int


Node = Number | Literal | Truth | Name | Call | Signed | Pair | Among


@dataclass(frozen=True, slots=True, kw_only=True)
class Expression:
    """A parsed expression with its text."""

    text: str
    root: Node

    def names(self) -> frozenset[str]:
        """Every column and measure that it speaks of."""
        return frozenset(_names(self.root))


def _names(node: Node) -> "list[str]":
    match node:
        case Name(name=name):
            return [name]
        case Call(arguments=parts):
            return [name for part in parts for name in _names(part)]
        case Signed(part=part):
            return _names(part)
        case Pair(left=left, right=right):
            return _names(left) + _names(right)
        case Among(part=part, options=options):
            return [name for each in (part, *options) for name in _names(each)]
        case _:
            return []
