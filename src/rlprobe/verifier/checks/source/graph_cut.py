"""Nothing that the loss is made of leaves the graph: no item(), tolist(), numpy(), float() or .data on the way."""

import ast
from collections.abc import Iterator

from rlprobe.verifier.measure.source import (
    GRADIENT_SLOTS,
    Hit,
    Piece,
    assignments,
    bound,
    depending,
    lint,
    named_call,
    names_in,
    reaching,
    returned,
)
from rlprobe.verifier.outcome import Check, Outcome
from rlprobe.verifier.subject import Subject

TRAINED = ("logprobs", "logits", "chosen_logprobs", "rejected_logprobs", "values")
CHECK = Check(
    id="V801",
    title="the loss stays in the graph",
    formula="no item(), detach(), numpy() or float() between log p and loss",
    stage="source",
    category="gradient breakage",
    needs=(),
    fix="Take the call out of the loss; keep it for what is logged.",
    causes=("ZERO_GRADIENT", "NO_WEIGHT_UPDATE"),
)


def run(subject: Subject) -> Outcome:
    """Calls on values that come of the log-probs and reach the returned loss."""

    def found(piece: Piece) -> Iterator[Hit]:
        roles = bound(subject, piece.slot) if piece.own else ()
        sources = {one.parameter for one in roles if one.role in TRAINED} or set(piece.parameters()[:1])
        alive, reached = depending(piece, sources), reaching(piece)
        on_the_way = [value for target, value in assignments(piece.tree) if names_in(target) & reached]
        for expression in (*on_the_way, *returned(piece)):
            for node in ast.walk(expression):
                inner = _cut(node)
                if inner is not None and names_in(inner) & alive:
                    yield node, f"{ast.unparse(node)[:60]} leaves the graph on its way into what is returned"

    return lint(subject, GRADIENT_SLOTS, found)


def _cut(node: ast.AST) -> ast.AST | None:
    """What is taken out of the graph by this node."""
    if isinstance(node, ast.Attribute) and node.attr == "data":
        return node.value
    if (call := named_call(node, "item", "tolist", "numpy")) is not None and isinstance(call.func, ast.Attribute):
        return call.func.value
    if (call := named_call(node, "float", "tensor", "as_tensor")) is not None and call.args:
        return call.args[0] if isinstance(call.func, ast.Name) or names_in(call.func) == {"torch"} else None
    return None
