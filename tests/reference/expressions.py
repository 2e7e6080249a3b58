"""Sample expressions row by row in plain Python: the slow twin of forensics/evaluation.py. None is unknown."""

import math
import re

from rlprobe.forensics.syntax import Among, Call, Literal, Name, Node, Number, Pair, Signed, Truth


def value_of(node: Node, row: dict[str, object]) -> object:
    """Number, text, True, False, or None where it is unknown; a NaN stays a NaN until something compares it."""
    match node:
        case Number(value=value) | Literal(value=value) | Truth(value=value):
            return value
        case Name(name=name):
            return row.get(name)
        case Signed(sign="-", part=part):
            inner = _number(value_of(part, row))
            return None if inner is None else -inner
        case Signed(part=part):
            inner = _truth(value_of(part, row))
            return None if inner is None else not inner
        case Among(part=part, options=options):
            found = [_equal(value_of(part, row), value_of(option, row)) for option in options]
            return True if True in found else None if None in found else False
        case Call(function=function, arguments=arguments):
            return _called(function, [value_of(each, row) for each in arguments])
        case Pair(sign=sign, left=left, right=right):
            return _pair(sign, value_of(left, row), value_of(right, row))


def _pair(sign: str, a: object, b: object) -> object:
    if sign == "and":
        x, y = _truth(a), _truth(b)
        return False if x is False or y is False else None if x is None or y is None else True
    if sign == "or":
        x, y = _truth(a), _truth(b)
        return True if x is True or y is True else None if x is None or y is None else False
    if sign == "in":
        return None if b is None else str(a) in str(b)
    if sign in ("==", "!="):
        same = _equal(a, b)
        return None if same is None else same == (sign == "==")
    x, y = _number(a), _number(b)
    if x is None or y is None:
        return None
    if sign in ("<", "<=", ">", ">="):
        if math.isnan(x) or math.isnan(y):
            return None
        return {"<": x < y, "<=": x <= y, ">": x > y, ">=": x >= y}[sign]
    if sign in "+-*":
        return {"+": x + y, "-": x - y, "*": x * y}[sign]
    if y == 0:
        if sign == "%" or x == 0 or math.isnan(x):
            return math.nan
        return math.copysign(math.inf, x) * math.copysign(1.0, y)
    return x / y if sign == "/" else _modulo(x, y)


def _modulo(x: float, y: float) -> float:
    """Python's %, with IEEE's NaN where Python raises."""
    return math.nan if math.isinf(x) or math.isnan(x) or math.isnan(y) else x % y


def _called(function: str, arguments: list[object]) -> object:
    first = arguments[0]
    if function == "missing":
        return first is None
    if function == "nan":
        number = _number(first)
        return number is not None and math.isnan(number)
    if first is None:
        return None
    if function == "abs":
        return abs(float(first))  # type: ignore[arg-type]  # the checker lets numbers pass only
    if function == "length":
        return len(str(first))
    if function == "lower":
        return str(first).lower()
    assert function == "matches"
    return re.search(str(arguments[1]), str(first)) is not None


def _equal(a: object, b: object) -> bool | None:
    if isinstance(a, str) or isinstance(b, str):
        return None if a is None or b is None else a == b
    x, y = _number(a), _number(b)
    return None if x is None or y is None or math.isnan(x) or math.isnan(y) else x == y


def _number(value: object) -> float | None:
    return None if value is None else float(value)  # type: ignore[arg-type]  # the checker lets numbers pass only


def _truth(value: object) -> bool | None:
    assert value is None or isinstance(value, bool)
    return value
