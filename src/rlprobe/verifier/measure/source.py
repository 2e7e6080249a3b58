"""The user's functions as syntax trees with file and line. Files are read and parsed, never run."""

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import FunctionType

from rlprobe.verifier.binding import Bound
from rlprobe.verifier.measure.reading import function_of, functions, syntax
from rlprobe.verifier.outcome import Outcome, not_checkable, passed, warned
from rlprobe.verifier.subject import Subject, Unavailable

GRADIENT_SLOTS = ("loss", "dpo_loss", "value_loss", "logprobs", "entropy", "kl")
EVERY_SLOT = (
    *("reward", "advantages", "gae", "whiten", *GRADIENT_SLOTS),
    *("decode", "completion_mask", "score", "train_step"),
)
OURS = "rlprobe.verifier.trainers"  # functions that call a trainer's own methods
Hit = tuple[ast.AST, str]  # the place, and what is said of it


@dataclass(frozen=True, slots=True)
class Piece:
    """One function of the user's.

    Attributes:
        slot: where it was handed over.
        function: the function itself, or one of its module that it calls.
        tree: its definition.
        own: whether it is the function that was handed over.
    """

    slot: str
    function: FunctionType
    tree: ast.FunctionDef | ast.AsyncFunctionDef
    own: bool

    @property
    def file(self) -> str:
        """Path of its file."""
        return self.function.__code__.co_filename

    def parameters(self) -> tuple[str, ...]:
        """Names of its parameters, in order."""
        arguments = self.tree.args
        return tuple(one.arg for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs))


def pieces(subject: Subject, slots: Sequence[str]) -> list[Piece]:
    """The functions in those slots with the functions of their modules that they call."""
    found: list[Piece] = []
    for slot in slots:
        for target in _targets(subject, slot):
            first = function_of(target)
            for function in functions(target):
                tree = None if str(function.__module__).startswith(OURS) else syntax(function)
                if tree is not None and not any(one.function is function and one.slot == slot for one in found):
                    found.append(Piece(slot, function, tree, own=function is first))
    return found


def lint(subject: Subject, slots: Sequence[str], find: Callable[[Piece], Iterator[Hit]]) -> Outcome:
    """A warning with the first place that `find` gives, and how many there are; never a failure."""
    seen = pieces(subject, slots)
    if not seen:
        return not_checkable("no source of these functions can be read", missing=tuple(slots[:1]))
    hits = [(piece, node, told) for piece in seen for node, told in find(piece)]
    if not hits:
        return passed()
    piece, node, told = hits[0]
    line = getattr(node, "lineno", piece.tree.lineno)
    further = f" {len(hits) - 1} more such place{'s' if len(hits) > 2 else ''}." if len(hits) > 1 else ""
    return warned(
        piece.slot,
        f"{piece.function.__name__}: {told}.{further}",
        got=ast.unparse(node)[:120],
        where=f"{piece.file}:{line}",
    )


def bound(subject: Subject, slot: str) -> tuple[Bound, ...]:
    """Parameters of the slot's function with their roles; empty where they cannot be told."""
    try:
        return subject.bound(slot).binding.bound
    except Unavailable:
        return ()


def named_call(node: ast.AST, *names: str) -> ast.Call | None:
    """The node as a call of a function or method of one of these names."""
    if not isinstance(node, ast.Call):
        return None
    called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return node if called in names else None


def names_in(node: ast.AST) -> set[str]:
    """Names that an expression loads."""
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def reaching(piece: Piece) -> set[str]:
    """Names whose values reach what the function returns first: its loss, not the metrics beside it."""
    wanted: set[str] = set()
    for node in ast.walk(piece.tree):
        if isinstance(node, ast.Return) and node.value is not None:
            wanted |= names_in(_first(node.value))
    for _ in range(20):  # assignments, back from the return
        before = len(wanted)
        for target, value in assignments(piece.tree):
            if names_in(target) & wanted:
                wanted |= names_in(value)
        if len(wanted) == before:
            break
    return wanted


def returned(piece: Piece) -> list[ast.expr]:
    """The expressions that are returned first."""
    found = [node.value for node in ast.walk(piece.tree) if isinstance(node, ast.Return)]
    return [_first(one) for one in found if one is not None]


def depending(piece: Piece, sources: set[str]) -> set[str]:
    """Names whose values come of the sources, the sources themselves included."""
    known = set(sources)
    for _ in range(20):
        before = len(known)
        for target, value in assignments(piece.tree):
            if names_in(value) & known:
                known |= names_in(target)
        if len(known) == before:
            break
    return known


def assignments(tree: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """(target, value) of every assignment."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            yield from ((target, node.value) for target in node.targets)
        elif isinstance(node, ast.AugAssign) or (isinstance(node, ast.AnnAssign) and node.value is not None):
            assert node.value is not None
            yield node.target, node.value


def _first(value: ast.expr) -> ast.expr:
    if isinstance(value, ast.Tuple) and value.elts:
        return value.elts[0]
    if isinstance(value, ast.Dict):
        named = {str(getattr(key, "value", "")): one for key, one in zip(value.keys, value.values, strict=True)}
        return next((one for key, one in named.items() if "loss" in key), next(iter(named.values()), value))
    return value


def _targets(subject: Subject, slot: str) -> Iterator[object]:
    given = getattr(subject.pipeline, slot, None)
    for one in given if isinstance(given, list | tuple) else (given,):
        if callable(one):
            yield one
