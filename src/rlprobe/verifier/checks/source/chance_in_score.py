"""Scores, advantages and losses draw no random numbers."""

import ast
from collections.abc import Iterator

from rlprobe.verifier.measure.source import Hit, Piece, lint
from rlprobe.verifier.outcome import Check, Outcome
from rlprobe.verifier.subject import Subject

DRAWS = ("torch.rand", "torch.randn", "torch.randint", "torch.bernoulli", "torch.rand_like", "torch.randn_like")
CHECK = Check(
    id="V812",
    title="no random numbers in scores, advantages and losses",
    formula="no rand() in scores, advantages, losses",
    stage="source",
    category="scaling and aggregation",
    needs=(),
    fix="Take the random part out, or seed it by the row.",
    causes=("REWARD_STD_DEATH", "NO_LEARNING"),
)


def run(subject: Subject) -> Outcome:
    """Calls of random modules."""
    return lint(subject, ("reward", "advantages", "loss", "dpo_loss", "kl"), _found)


def _found(piece: Piece) -> Iterator[Hit]:
    for node in ast.walk(piece.tree):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if called.startswith(("random.", "np.random.", "numpy.random.")) or called in DRAWS:
                yield node, f"{called}() draws a random number"
