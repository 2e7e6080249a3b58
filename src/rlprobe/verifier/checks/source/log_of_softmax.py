"""Log-probs come from log_softmax or logsumexp, not from the logarithm of a softmax."""

import ast
from collections.abc import Iterator

from rlprobe.verifier.measure.source import GRADIENT_SLOTS, Hit, Piece, assignments, lint, named_call, names_in
from rlprobe.verifier.outcome import Check, Outcome
from rlprobe.verifier.subject import Subject

CHECK = Check(
    id="V813",
    title="no logarithm is taken of a softmax",
    formula="log_softmax(z), never log(softmax(z))",
    stage="source",
    category="constants",
    needs=(),
    fix="Use log_softmax: the softmax of a small logit is 0 in float32, and its logarithm is minus infinity.",
    causes=("NUMERIC_NAN", "GRAD_PATHOLOGY"),
)


def run(subject: Subject) -> Outcome:
    """log(softmax(x)) in one expression or over a name."""
    return lint(subject, GRADIENT_SLOTS, _found)


def _found(piece: Piece) -> Iterator[Hit]:
    soft = {
        name
        for target, value in assignments(piece.tree)
        if named_call(value, "softmax") is not None
        for name in names_in(target)
    }
    for node in ast.walk(piece.tree):
        call = named_call(node, "log")
        if call is None:
            continue
        inner = (
            call.func.value if isinstance(call.func, ast.Attribute) and not call.args else next(iter(call.args), None)
        )
        if inner is None:
            continue
        if named_call(inner, "softmax") is not None or (isinstance(inner, ast.Name) and inner.id in soft):
            yield call, f"{ast.unparse(call)[:60]} is minus infinity where the probability rounds to 0"
