"""What kind of value an expression has, and a clear complaint where its parts do not fit together."""

from typing import NoReturn

from rlprobe.forensics.measures import Kind, Vocabulary
from rlprobe.forensics.syntax import Among, Call, Expression, Literal, Name, Node, Number, Pair, Signed, Truth
from rlprobe.forensics.tokens import ExpressionError

_SAID = {"number": "a number", "text": "a text", "condition": "a condition"}


def check(expression: Expression, words: Vocabulary, *, wanted: Kind) -> None:
    """Refuse an expression that is not of the wanted kind; a condition counts as a number, a number as no condition.

    Raises:
        ExpressionError: where its parts do not fit, with the place.
    """
    words.columns(expression)
    _Checker(expression.text, words).need(expression.root, wanted, "here")


class _Checker:
    def __init__(self, text: str, words: Vocabulary) -> None:
        self._text, self._words = text, words

    def need(self, node: Node, wanted: Kind, where: str) -> None:
        """Refuse a part of another kind."""
        got = self.kind(node)
        if got != wanted and not (wanted == "number" and got == "condition"):
            self._refuse(node, f"expected {_SAID[wanted]} {where}, got {_SAID[got]}.{_hint(wanted, got)}")

    def kind(self, node: Node) -> Kind:
        match node:
            case Number():
                return "number"
            case Literal():
                return "text"
            case Truth():
                return "condition"
            case Name(name=name):
                return self._named(name)
            case Signed(sign=sign, part=part):
                wanted: Kind = "number" if sign == "-" else "condition"
                self.need(part, wanted, f'after "{sign}"')
                return wanted
            case Among(part=part, options=options):
                for option in options:
                    self._alike(part, option, node)
                return "condition"
            case Call():
                return self._called(node)
            case Pair():
                return self._pair(node)

    def _named(self, name: str) -> Kind:
        meaning = self._words.meaning(name)
        assert meaning is not None  # Vocabulary.columns has complained of unknown names
        if isinstance(meaning, Name):
            return self._words.kinds[meaning.name]
        return self.kind(meaning)

    def _pair(self, node: Pair) -> Kind:
        sides = ((node.left, f'on the left of "{node.sign}"'), (node.right, f'on the right of "{node.sign}"'))
        match node.sign:
            case "and" | "or":
                for part, where in sides:
                    self.need(part, "condition", where)
            case "==" | "!=":
                self._alike(node.left, node.right, node)
            case "in":
                if not isinstance(node.left, Literal):
                    self._refuse(node.left, 'expected a text in quotes on the left of "in".')
                self._column(node.right)
            case _:
                for part, where in sides:
                    self.need(part, "number", where)
        return "number" if node.sign in "+-*/%" else "condition"

    def _called(self, node: Call) -> Kind:
        first = node.arguments[0]
        match node.function:
            case "missing":
                self.kind(first)
                return "condition"
            case "nan":
                self.need(first, "number", "in nan()")
                return "condition"
            case "abs" | "log" | "exp":
                self.need(first, "number", f"in {node.function}()")
                return "number"
        self._column(first)
        if node.function == "matches":
            self._pattern(node.arguments[1])
            return "condition"
        return "text" if node.function == "lower" else "number"

    def _pattern(self, node: Node) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc

        if not isinstance(node, Literal):
            self._refuse(node, "expected a regular expression in quotes.")
        try:
            pc.match_substring_regex(pa.nulls(1, pa.string()), node.value)
        except pa.ArrowInvalid as error:
            reason = str(error).splitlines()[0].removeprefix("Invalid regular expression: ")
            self._refuse(node, f"expected a regular expression (RE2), got one that is none: {reason}.")

    def _column(self, node: Node) -> None:
        """Refuse what is no column of texts."""
        self.need(node, "text", "here")
        if isinstance(node, Literal):
            self._refuse(node, "expected a column of texts, such as completion, got a text in quotes.")

    def _alike(self, left: Node, right: Node, node: Node) -> None:
        kinds = {"number" if self.kind(part) == "condition" else self.kind(part) for part in (left, right)}
        if len(kinds) > 1:
            told = f"expected two values of one kind, got {_SAID[self.kind(left)]} and {_SAID[self.kind(right)]}."
            self._refuse(node, told)

    def _refuse(self, node: Node, problem: str) -> NoReturn:
        raise ExpressionError(problem, self._text, node.at)


def _hint(wanted: Kind, got: Kind) -> str:
    if wanted == "condition":
        return " Compare it with something." if got == "number" else ' Compare it, or write "..." in it.'
    return ' Texts are compared with "==", "!=" and "in".' if got == "text" else ""
