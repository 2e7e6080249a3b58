"""No default value is a list or a mapping that calls share."""

import ast
from collections.abc import Iterator

from rlprobe.verifier.measure.source import EVERY_SLOT, Hit, Piece, assignments, lint
from rlprobe.verifier.outcome import Check, Outcome
from rlprobe.verifier.subject import Subject

CHECK = Check(
    id="V811",
    title="no default value is shared between calls",
    formula="def f(x=None), never def f(x=[])",
    stage="source",
    category="grouping and order",
    needs=(),
    fix="Take None as the default and make the list inside.",
    causes=("REWARD_SCALE_SHIFT", "GROUPING_BUG"),
)


def run(subject: Subject) -> Outcome:
    """Defaults that are displays of lists, sets or mappings and are changed inside."""
    return lint(subject, EVERY_SLOT, _found)


def _found(piece: Piece) -> Iterator[Hit]:
    arguments = piece.tree.args
    named = [*arguments.posonlyargs, *arguments.args]
    pairs = [*zip(named[len(named) - len(arguments.defaults) :], arguments.defaults, strict=True)]
    pairs += [
        (one, default) for one, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if default
    ]
    changed = {
        node.func.value.id
        for node in ast.walk(piece.tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name)
        if node.func.attr in ("append", "extend", "add", "update", "setdefault", "pop", "insert")
    }
    written = {
        target.value.id
        for target, _ in assignments(piece.tree)
        if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name)
    }
    for argument, default in pairs:
        if isinstance(default, ast.List | ast.Dict | ast.Set) and argument.arg in changed | written:
            yield default, f"the default of {argument.arg} keeps what earlier calls put into it"
