"""A reward does not turn its own errors into a low score."""

import ast
from collections.abc import Iterator

from rlprobe.verifier.measure.source import Hit, Piece, lint, named_call
from rlprobe.verifier.outcome import Check, Outcome
from rlprobe.verifier.subject import Subject

TELLING = ("print", "warn", "warning", "error", "exception", "log", "info", "debug")
CHECK = Check(
    id="V810",
    title="errors in rewards are not swallowed",
    formula="no `except Exception: return 0.0` around a score",
    stage="source",
    category="string processing",
    needs=(),
    fix="Catch the one exception that is meant (ValueError of a parse), and let the others be seen.",
    causes=("REWARD_CONSTANT", "REWARD_COMPONENT_DEAD"),
)


def run(subject: Subject) -> Outcome:
    """except without a type or with Exception, whose body says nothing."""
    return lint(subject, ("reward", "decode"), _found)


def _found(piece: Piece) -> Iterator[Hit]:
    for node in ast.walk(piece.tree):
        if not isinstance(node, ast.ExceptHandler):
            continue
        caught = "" if node.type is None else ast.unparse(node.type)
        inner = [one for statement in node.body for one in ast.walk(statement)]
        told = any(isinstance(one, ast.Raise) or named_call(one, *TELLING) for one in inner)
        if caught in ("", "Exception", "BaseException") and not told:
            yield node, f"except {caught or ':'} hides every error as a score"
