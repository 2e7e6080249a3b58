"""The reference is a copy of the policy, not another name for it."""

import ast
from collections.abc import Iterator

from rlprobe.verifier.measure.source import EVERY_SLOT, Hit, Piece, assignments, lint
from rlprobe.verifier.outcome import Check, Outcome
from rlprobe.verifier.subject import Subject

CHECK = Check(
    id="V809",
    title="the reference is not another name for the policy",
    formula="reference = copy.deepcopy(policy), never reference = policy",
    stage="source",
    category="reference drift",
    needs=(),
    fix="Build the reference with copy.deepcopy or load it anew, and freeze it.",
    causes=("REFERENCE_MOVING", "REFERENCE_MISMATCH"),
)


def run(subject: Subject) -> Outcome:
    """Assignments of a bare model name to a reference name."""
    return lint(subject, EVERY_SLOT, _found)


def _found(piece: Piece) -> Iterator[Hit]:
    for target, value in assignments(piece.tree):
        held = ast.unparse(target).lower().rpartition(".")[2]
        given = ast.unparse(value).lower().rpartition(".")[2]
        if held.startswith(("ref_model", "reference", "ref_policy")) and given in ("model", "policy", "actor"):
            yield target, f"{ast.unparse(target)} and {ast.unparse(value)} are one object"
