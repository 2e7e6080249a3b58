"""Arguments are not changed in place: the caller uses them again."""

import ast
from collections.abc import Iterator

from rlprobe.verifier.measure.source import EVERY_SLOT, Hit, Piece, assignments, lint
from rlprobe.verifier.outcome import Check, Outcome
from rlprobe.verifier.subject import Subject

KEPT = (
    "optimizer",
    "model",
    "metrics",
    "state",
    "cache",
    "kwargs",
    "stats",
    "logs",
)  # what is handed over to be changed
LISTS = ("pop", "sort", "reverse", "remove", "clear", "insert")
HARMLESS = ("requires_grad_",)
CHECK = Check(
    id="V803",
    title="arguments are not changed in place",
    stage="source",
    category="gradient breakage",
    needs=(),
    fix="Write to a copy (x = x + y, not x += y).",
    causes=("GROUPING_BUG", "KL_BLOWUP"),
)


def run(subject: Subject) -> Outcome:
    """Assignments into parameters and methods with an underscore at their end."""
    return lint(subject, EVERY_SLOT, _found)


def _found(piece: Piece) -> Iterator[Hit]:
    if not piece.own:
        return
    rebound = {name for target, _ in assignments(piece.tree) if isinstance(target, ast.Name) for name in (target.id,)}
    own = set(piece.parameters()) - {"self", *KEPT}
    for node in ast.walk(piece.tree):
        if isinstance(node, ast.AugAssign) and _name(node.target) in own:
            name = _name(node.target)
            if isinstance(node.target, ast.Subscript) or name not in _copied(piece.tree, name):
                yield node, f"{name} is an argument, and is changed in place"
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Subscript) and _name(target) in own - rebound:
                    yield node, f"{_name(target)} is an argument, and is written into"
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and _name(node.func.value) in own - rebound
        ):
            method = node.func.attr
            if method in LISTS or (method.endswith("_") and not method.startswith("_") and method not in HARMLESS):
                yield node, f"{_name(node.func.value)} is an argument, and {method}() changes it in place"


def _copied(tree: ast.AST, name: str) -> set[str]:
    """The name, where it is given a new value before: what is then changed is no argument any more."""
    return (
        {name}
        if any(isinstance(t, ast.Name) and t.id == name and not _augments(tree, t) for t, _ in assignments(tree))
        else set()
    )


def _augments(tree: ast.AST, target: ast.Name) -> bool:
    return any(isinstance(node, ast.AugAssign) and node.target is target for node in ast.walk(tree))


def _name(node: ast.expr) -> str:
    while isinstance(node, ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
