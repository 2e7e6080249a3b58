"""A mask is made from lengths or ends, not by comparing ids with the padding id."""

import ast
from collections.abc import Iterator

from rlprobe.verifier.measure.source import EVERY_SLOT, Hit, Piece, lint
from rlprobe.verifier.outcome import Check, Outcome
from rlprobe.verifier.subject import Subject

CHECK = Check(
    id="V807",
    title="no mask comes from comparing ids with the padding id",
    formula="no mask = ids != pad_id",
    stage="source",
    category="masks and alignment",
    needs=(),
    fix="Mask by the place of the first EOS: where it also pads, the comparison drops it.",
    causes=("NO_EOS", "LENGTH_EXPLOSION"),
)


def run(subject: Subject) -> Outcome:
    """Comparisons of ids with a name that holds "pad"."""
    return lint(subject, EVERY_SLOT, _found)


def _found(piece: Piece) -> Iterator[Hit]:
    for node in ast.walk(piece.tree):
        if not isinstance(node, ast.Compare) or not isinstance(node.ops[0], ast.NotEq):
            continue
        right = ast.unparse(node.comparators[0]).lower()
        if (
            "pad" in right
            and not isinstance(node.comparators[0], ast.Constant)
            and "ids" in ast.unparse(node.left).lower()
        ):
            yield node, "where the padding id also ends a text, this masks the end of text"
