"""An option that is a text is compared, not tested for being true."""

import ast
from collections.abc import Iterator

from rlprobe.verifier.measure.source import EVERY_SLOT, Hit, Piece, lint, names_in
from rlprobe.verifier.outcome import Check, Outcome
from rlprobe.verifier.subject import Subject

CHECK = Check(
    id="V806",
    title="an option that is text is compared, not tested for truth",
    formula='option == "name", never `if option:`',
    stage="source",
    category="configuration",
    needs=(),
    fix="Compare with the names of the options: any text but the empty one counts as true.",
    causes=("CONFIG_MISUSE", "ADV_COLLAPSE"),
)


def run(subject: Subject) -> Outcome:
    """Parameters with a text as default, or that are compared with one, and stand alone as a condition."""
    return lint(subject, EVERY_SLOT, _found)


def _found(piece: Piece) -> Iterator[Hit]:
    texts = set(_text_defaults(piece.tree.args))
    for node in ast.walk(piece.tree):
        if isinstance(node, ast.Compare) and any(
            isinstance(getattr(one, "value", None), str) for one in node.comparators
        ):
            texts |= names_in(node.left) & set(piece.parameters()) if isinstance(node.left, ast.Name) else set()
    options = {name for name in texts if name not in piece.parameters()[:2]}
    for node in ast.walk(piece.tree):
        test = node.test if isinstance(node, ast.If | ast.IfExp) else None
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            test = test.operand
        if isinstance(test, ast.Name) and test.id in options:
            yield test, f"{test.id} is a text, and every text but the empty one is true"


def _text_defaults(arguments: ast.arguments) -> Iterator[str]:
    named = [*arguments.posonlyargs, *arguments.args]
    defaults = zip(named[len(named) - len(arguments.defaults) :], arguments.defaults, strict=True)
    for argument, default in (*defaults, *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)):
        if isinstance(default, ast.Constant) and isinstance(default.value, str) and default.value:
            yield argument.arg
