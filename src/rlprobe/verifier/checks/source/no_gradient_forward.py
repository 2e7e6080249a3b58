"""The forward pass of the policy and the loss are not computed without gradient."""

import ast
from collections.abc import Iterator

from rlprobe.verifier.measure.source import GRADIENT_SLOTS, Hit, Piece, assignments, lint, names_in, reaching
from rlprobe.verifier.outcome import Check, Outcome
from rlprobe.verifier.subject import Subject

NAMES = ("no_grad", "inference_mode")
FROZEN = ("ref", "old", "teacher", "baseline", "mask", "adv", "weight", "is_", "std", "mean", "kl_logged")
CHECK = Check(
    id="V802",
    title="the policy is not run without gradient",
    formula="no no_grad() around the policy's forward pass",
    stage="source",
    category="gradient breakage",
    needs=(),
    fix="Move the policy out of no_grad; only the reference and the old policy belong there.",
    causes=("ZERO_GRADIENT", "NO_WEIGHT_UPDATE"),
)


def run(subject: Subject) -> Outcome:
    """no_grad and inference_mode around what is returned, or around the step."""
    return lint(subject, (*GRADIENT_SLOTS, "train_step"), _found)


def _found(piece: Piece) -> Iterator[Hit]:
    for decorator in piece.tree.decorator_list:
        if ast.unparse(decorator).removesuffix("()").endswith(NAMES):
            yield decorator, f"{ast.unparse(decorator)} decorates it"
    reached = reaching(piece)
    for node in ast.walk(piece.tree):
        if isinstance(node, ast.With) and any(_stops(item.context_expr) for item in node.items):
            made = {name for target, _ in assignments(node) for name in names_in(target)}
            if made & reached and not any(name.startswith(FROZEN) for name in made & reached):
                yield node.items[0].context_expr, f"{', '.join(sorted(made & reached))} is made without gradient"


def _stops(expression: ast.expr) -> bool:
    text = ast.unparse(expression)
    return text.removesuffix("()").endswith(NAMES) or text.endswith("set_grad_enabled(False)")
