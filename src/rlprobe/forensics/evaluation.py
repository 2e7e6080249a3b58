"""Sample expressions over whole columns. What is said of a missing value or of NaN is unknown: neither true nor false.

So neither `reward > 0.5` nor `not reward > 0.5` takes a sample without a reward; `missing(reward)` does.
"""

import numpy as np
import pyarrow as pa

from rlprobe.forensics.checking import check
from rlprobe.forensics.measures import Vocabulary
from rlprobe.forensics.repeats import repeated_fraction
from rlprobe.forensics.syntax import Among, Call, Expression, Literal, Name, Node, Number, Pair, Signed, Truth
from rlprobe.forensics.values import (
    Numbers,
    Texts,
    Truths,
    Value,
    both,
    certain,
    column_value,
    either,
    nothing,
    number_column,
    numbers,
    one_number,
    one_truth,
    present,
    truth_column,
    truths,
)
from rlprobe.recording.run import BoolArray, FloatArray
from rlprobe.recording.sample_columns import arrow_column

_OPERATIONS = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "%": np.mod}
_COMPARISONS = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}
_FUNCTIONS = {"abs": np.abs, "log": np.log, "exp": np.exp}


def holds(expression: Expression, table: pa.Table, words: Vocabulary) -> BoolArray:
    """(rows,) where the expression is known to be true.

    Raises:
        ExpressionError: it is no condition, or speaks of what the samples do not have.
    """
    check(expression, words, wanted="condition")
    truth = truths(_Evaluator(table, words).value(expression.root))
    return np.broadcast_to(np.asarray(truth.values & truth.known), (table.num_rows,))


def levels(expression: Expression, table: pa.Table, words: Vocabulary) -> FloatArray:
    """(rows,) numbers of the expression, NaN where there is none; true and false are 1 and 0.

    Raises:
        ExpressionError: it is no number, or speaks of what the samples do not have.
    """
    check(expression, words, wanted="number")
    found = numbers(_Evaluator(table, words).value(expression.root))
    return np.broadcast_to(np.where(found.present, found.values, np.nan), (table.num_rows,))


class _Evaluator:
    """Values of the parts of an expression over the rows of one table."""

    def __init__(self, table: pa.Table, words: Vocabulary) -> None:
        self._table, self._words = table, words

    def value(self, node: Node) -> Value:
        """The value of a part that the checker has let pass."""
        match node:
            case Number(value=number):
                return one_number(number)
            case Truth(value=truth):
                return one_truth(value=truth)
            case Literal(value=text):
                return Texts(literal=text)
            case Name(name=name):
                return self._named(name)
            case Call(function=function, arguments=arguments):
                return self._called(function, arguments)
            case Signed(sign=sign, part=part):
                return _signed(sign, self.value(part))
            case Among(part=part, options=options):
                value, found = self.value(part), certain(np.zeros((), dtype=bool))
                for option in options:
                    found = either(found, _equal(value, self.value(option)))
                return found
            case Pair():
                return self._pair(node)

    def _named(self, name: str) -> Value:
        meaning = self._words.meaning(name)
        if not isinstance(meaning, Name):
            assert meaning is not None  # the checker has refused unknown names
            return self.value(meaning)
        kind = self._words.kinds[meaning.name]
        if meaning.name not in self._table.column_names:
            return nothing(kind, self._table.num_rows)
        return column_value(self._table.column(meaning.name), kind)

    def _pair(self, node: Pair) -> Value:
        import pyarrow.compute as pc

        left, right = self.value(node.left), self.value(node.right)
        match node.sign:
            case "and":
                return both(truths(left), truths(right))
            case "or":
                return either(truths(left), truths(right))
            case "in":
                assert isinstance(left, Texts)
                return truth_column(pc.match_substring(_texts(right), left.literal))
            case "==":
                return _equal(left, right)
            case "!=":
                return _signed("not", _equal(left, right))
        a, b = numbers(left), numbers(right)
        with np.errstate(all="ignore"):  # overflow and division by zero give infinities and NaN, which is what is meant
            if node.sign in _COMPARISONS:
                compared = np.asarray(_COMPARISONS[node.sign](a.values, b.values))
                return Truths(values=compared, known=np.asarray(a.known & b.known))
            result = np.asarray(_OPERATIONS[node.sign](a.values, b.values))
        return Numbers(values=result, present=np.asarray(a.present & b.present))

    def _called(self, function: str, arguments: tuple[Node, ...]) -> Value:
        import pyarrow.compute as pc

        first = self.value(arguments[0])
        match function:
            case "missing":
                return certain(~present(first))
            case "nan":
                number = numbers(first)
                return certain(number.present & np.isnan(number.values))
            case "abs" | "log" | "exp":
                number = numbers(first)
                with np.errstate(all="ignore"):  # the logarithm of what is not positive is NaN
                    return Numbers(values=np.asarray(_FUNCTIONS[function](number.values)), present=number.present)
            case "lower":
                return Texts(column=pc.utf8_lower(_texts(first)))
            case "length":
                return number_column(pc.utf8_length(_texts(first)))
            case "repeated":
                return _repeated(_texts(first))
        pattern = arguments[1]
        assert isinstance(pattern, Literal)
        return truth_column(pc.match_substring_regex(_texts(first), pattern.value))


def _signed(sign: str, value: Value) -> Value:
    if sign == "-":
        number = numbers(value)
        return Numbers(values=-number.values, present=number.present)
    truth = truths(value)
    return Truths(values=~truth.values, known=truth.known)


def _equal(left: Value, right: Value) -> Truths:
    import pyarrow.compute as pc

    if not isinstance(left, Texts) or not isinstance(right, Texts):
        a, b = numbers(left), numbers(right)
        return Truths(values=np.asarray(a.values == b.values), known=np.asarray(a.known & b.known))
    columns = [each.column for each in (left, right) if each.column is not None]
    if not columns:
        return one_truth(value=left.literal == right.literal)
    if len(columns) == 2:
        return truth_column(pc.equal(*columns))
    literal = left.literal if left.column is None else right.literal
    _, one = arrow_column("", "string", [literal])  # from buffers: pyarrow's own converter would import pandas
    return truth_column(pc.equal(columns[0], one[0]))


def _texts(value: Value) -> pa.ChunkedArray:
    assert isinstance(value, Texts)  # the checker has refused everything else
    assert value.column is not None
    return value.column


def _repeated(column: pa.ChunkedArray) -> Numbers:
    found = [None if text is None else repeated_fraction(text) for text in column.to_pylist()]
    values = np.array([np.nan if each is None else each for each in found], dtype=np.float64)
    return Numbers(values=values, present=np.array([each is not None for each in found], dtype=bool))
