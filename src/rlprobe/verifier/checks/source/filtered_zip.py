"""Rows are not paired with a list from which some of them were dropped."""

import ast
from collections.abc import Iterator

from rlprobe.verifier.measure.source import Hit, Piece, assignments, lint, named_call, names_in
from rlprobe.verifier.outcome import Check, Outcome
from rlprobe.verifier.subject import Subject

CHECK = Check(
    id="V804",
    title="no filtered list is paired with all rows",
    formula="no zip(filtered list, all rows)",
    stage="source",
    category="grouping and order",
    needs=(),
    fix="Put a value in the place of what is dropped, and give zip strict=True.",
    causes=("GROUPING_BUG", "REWARD_TEXT_MISMATCH"),
)


def run(subject: Subject) -> Outcome:
    """zip over a name that a comprehension with a condition made."""
    return lint(subject, ("reward", "decode", "advantages"), _found)


def _found(piece: Piece) -> Iterator[Hit]:
    filtered = {
        name
        for target, value in assignments(piece.tree)
        if isinstance(value, ast.ListComp) and any(one.ifs for one in value.generators)
        for name in names_in(target)
    }
    for node in ast.walk(piece.tree):
        call = named_call(node, "zip")
        if call is None or any(word.arg == "strict" for word in call.keywords):
            continue
        dropped = sorted(names_in(call) & filtered)
        if dropped:
            yield call, f"{dropped[0]} lacks the rows that were filtered out, and zip stops at the shortest"
