"""Samples of a group lie next to each other: groups are rows of view(-1, group), their values repeated in place."""

import ast
from collections.abc import Iterator

from rlprobe.verifier.measure.source import Hit, Piece, lint, named_call, names_in
from rlprobe.verifier.outcome import Check, Outcome
from rlprobe.verifier.subject import Subject

SIZES = ("group_size", "num_generations", "n", "g", "k", "n_samples_per_prompt", "rloo_k", "group", "num_samples")
CHECK = Check(
    id="V808",
    title="groups are reshaped and repeated along their own samples",
    formula="view(-1, n) and repeat_interleave(n)",
    stage="source",
    category="grouping and order",
    needs=(),
    fix="Use view(-1, group_size) and repeat_interleave.",
    causes=("GROUPING_BUG", "NO_LEARNING"),
)


def run(subject: Subject) -> Outcome:
    """view(group, -1) and repeat(group) with the parameter that is the group size."""
    return lint(subject, ("advantages",), _found)


def _found(piece: Piece) -> Iterator[Hit]:
    sizes = {name for name in piece.parameters() if name.lower() in SIZES}
    for node in ast.walk(piece.tree):
        call = named_call(node, "view", "reshape", "repeat", "tile")
        if call is None or not call.args:
            continue
        method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        shape = call.args[0].elts if len(call.args) == 1 and isinstance(call.args[0], ast.Tuple) else call.args
        numpy_repeat = method == "repeat" and names_in(call.func) & {"np", "numpy", "jnp"}
        if method in ("view", "reshape") and len(shape) == 2:
            first, second = shape
            if names_in(first) & sizes and ast.unparse(second) == "-1":
                yield call, f"{ast.unparse(call)[:60]} puts samples of different prompts into one row"
        elif method in ("repeat", "tile") and not numpy_repeat and len(shape) == 1 and names_in(shape[0]) & sizes:
            yield call, f"{ast.unparse(call)[:60]} repeats the list of groups, not each group's value"
