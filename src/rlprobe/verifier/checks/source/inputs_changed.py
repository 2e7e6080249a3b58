"""Arguments are not changed in place: the caller uses them again."""

import ast
from collections.abc import Iterator

from rlprobe.verifier.measure.source import EVERY_SLOT, Hit, Piece, lint
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
    formula="no x += y, x[i] = y on an argument",
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
    plain = [node for node in ast.walk(piece.tree) if isinstance(node, ast.Assign | ast.AnnAssign)]
    targets = [one for node in plain for one in (node.targets if isinstance(node, ast.Assign) else [node.target])]
    # A name that is given a new value anywhere is no argument any more: what is changed then is the function's own.
    own = set(piece.parameters()) - {"self", *KEPT} - {one.id for one in targets if isinstance(one, ast.Name)}
    for node in ast.walk(piece.tree):
        if isinstance(node, ast.AugAssign) and _name(node.target) in own:
            yield node, f"{_name(node.target)} is an argument, and is changed in place"
        elif isinstance(node, ast.Assign):
            written = [one for one in node.targets if isinstance(one, ast.Subscript) and _name(one) in own]
            yield from ((node, f"{_name(one)} is an argument, and is written into") for one in written)
        elif (call := _method(node)) is not None and _name(call.value) in own:
            yield node, f"{_name(call.value)} is an argument, and {call.attr}() changes it in place"


def _method(node: ast.AST) -> ast.Attribute | None:
    """The method of a call that changes what it is called on."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    name = node.func.attr
    torch = name.endswith("_") and not name.startswith("_") and name not in HARMLESS
    return node.func if torch or name in LISTS else None


def _name(node: ast.expr) -> str:
    while isinstance(node, ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
