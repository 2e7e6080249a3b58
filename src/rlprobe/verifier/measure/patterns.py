"""A text that a regular expression of the user's finds, with places for the reasoning and for the answer."""

import re
import warnings
from collections.abc import Iterable, Sequence

# The parser that `re` itself uses; there is no public one.
from re import _constants as codes, _parser as parser  # type: ignore[attr-defined]  # isort: skip

ANSWER, REASONING = "@A", "@R"
TRIED = ("42", "B", "word", "4*5+3", "-7.5")  # answers that a pattern may ask for
FILLED = "First I add the parts, then I check the sum."
LONGEST = 400  # characters of a pattern


def example_of(pattern: str, flags: int = re.DOTALL) -> str | None:
    """A text that the pattern finds, its last open group as @A and what else it leaves open as @R; None without one.

    The pattern is not run against anything but texts of ours.
    """
    if len(pattern) > LONGEST:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of patterns that will change their meaning: it is not our business here
            compiled = re.compile(pattern, flags)
            tree = parser.parse(pattern, flags)
    except (re.error, OverflowError, RecursionError):
        return None
    groups = _open_groups(tree)
    for last in (groups[-1:], groups[:1], []):
        example = _written(tree, frozenset(last))
        filled = example.replace(REASONING, FILLED)
        if any(compiled.search(filled.replace(ANSWER, answer)) for answer in TRIED):
            return example
    return None


def _open_groups(tree: Iterable[tuple[object, object]]) -> list[int]:
    """Numbers of the groups that hold a class or a dot that repeats: what an answer can stand in."""
    found: list[int] = []
    for code, value in tree:
        if code is codes.SUBPATTERN and isinstance(value, Sequence):
            inner = _open_groups(value[-1])
            found += inner or ([value[0]] if value[0] is not None and _open(value[-1]) else [])
        elif code in (codes.MAX_REPEAT, codes.MIN_REPEAT) and isinstance(value, Sequence):
            found += _open_groups(value[2])
        elif code is codes.BRANCH and isinstance(value, Sequence):
            found += _open_groups(value[1][0])
    return found


def _open(tree: Iterable[tuple[object, object]]) -> bool:
    for code, value in tree:
        if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.IN, codes.ANY, codes.NOT_LITERAL):
            return True
        if code is codes.BRANCH and isinstance(value, Sequence) and any(_open(one) for one in value[1]):
            return True
    return False


def _written(tree: Iterable[tuple[object, object]], answers: frozenset[int]) -> str:
    return "".join(_piece(code, value, answers) for code, value in tree)


def _piece(code: object, value: object, answers: frozenset[int]) -> str:
    if code is codes.LITERAL and isinstance(value, int):
        return chr(value)
    if code is codes.SUBPATTERN and isinstance(value, Sequence):
        return ANSWER if value[0] in answers else _written(value[-1], answers)
    if code is codes.BRANCH and isinstance(value, Sequence):
        return _written(value[1][0], answers)
    if code in (codes.MAX_REPEAT, codes.MIN_REPEAT) and isinstance(value, Sequence):
        return _repeated(value, answers)
    if code in (codes.ASSERT,) and isinstance(value, Sequence):
        return _written(value[1], answers) if value[0] > 0 else ""
    return _one(code, value)


def _repeated(value: Sequence[object], answers: frozenset[int]) -> str:
    """A repetition as often as it must be; open text where any letter may stand, and where an answer is inside."""
    least, _, inner = value
    assert isinstance(least, int)
    listed = list(inner)  # type: ignore[call-overload]  # a parsed pattern
    if len(listed) == 1 and listed[0][0] in (codes.ANY, codes.NOT_LITERAL):
        return REASONING
    if len(listed) == 1 and _any_letter(listed[0]):
        return REASONING
    if not answers and len(listed) == 1 and _digit(listed[0]):
        return ANSWER
    holds = any(number in answers for number in _open_groups(listed))
    return _written(listed, answers) * max(least, int(holds))


def _any_letter(piece: tuple[object, object]) -> bool:
    """Whether a class is everything, [\\s\\S], or everything but some, [^<]."""
    code, value = piece
    if code is not codes.IN or not isinstance(value, Sequence):
        return False
    kinds = {inner for kind, inner in value if kind is codes.CATEGORY}
    return value[0][0] is codes.NEGATE or {codes.CATEGORY_SPACE, codes.CATEGORY_NOT_SPACE} <= kinds


def _digit(piece: tuple[object, object]) -> bool:
    code, value = piece
    if code is not codes.IN or not isinstance(value, Sequence):
        return False
    return any(one in ((codes.CATEGORY, codes.CATEGORY_DIGIT), (codes.RANGE, (ord("0"), ord("9")))) for one in value)


def _one(code: object, value: object) -> str:
    """One letter for a class, a dot or a place."""
    if code in (codes.ANY, codes.NOT_LITERAL):
        return "x"
    if code is not codes.IN or not isinstance(value, Sequence):
        return ""  # a place: the start, the end, the edge of a word
    kind, inner = value[0]
    if kind is codes.LITERAL:
        return chr(inner)
    if kind is codes.RANGE:
        return chr(inner[0])
    letters = {codes.CATEGORY_SPACE: " ", codes.CATEGORY_DIGIT: "4"}
    return letters.get(inner, "x") if kind is codes.CATEGORY else "x"
