"""A parameter that a function takes is read in it."""

import ast
from collections.abc import Iterator

from rlprobe.verifier.measure.source import Hit, Piece, bound, lint
from rlprobe.verifier.outcome import Check, Outcome
from rlprobe.verifier.subject import Subject

ACTING = frozenset(
    (
        *("mask", "temperature", "advantages", "old_logprobs", "clip", "clip_low", "clip_high", "kl_coefficient"),
        *("entropy_coefficient", "importance_ratio", "group_size", "group_ids", "advantage_epsilon", "gamma", "lam"),
        *("dpo_beta", "label_smoothing", "ref_logprobs", "eos_id", "truncated", "dones", "last_values", "normalizer"),
    )
)
SLOTS = (
    "advantages",
    "gae",
    "whiten",
    "logprobs",
    "kl",
    "loss",
    "dpo_loss",
    "value_loss",
    "entropy",
    "completion_mask",
)
CHECK = Check(
    id="V814",
    title="parameters are read where they are taken",
    formula="every parameter is read",
    stage="source",
    category="configuration",
    needs=(),
    fix="Use the parameter where it is meant to act, or take it out of the signature.",
    causes=("CONFIG_MISUSE",),
)


def run(subject: Subject) -> Outcome:
    """Parameters with a known role that the body never loads."""

    def found(piece: Piece) -> Iterator[Hit]:
        roles = {one.parameter: one.role for one in bound(subject, piece.slot)} if piece.own else {}
        loaded = {one.id for one in ast.walk(piece.tree) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)}
        everything = "locals" in loaded
        for name, role in roles.items():
            if name not in loaded and not everything and role in ACTING:
                yield piece.tree.args, f"{name} ({role}) is taken and never read"

    return lint(subject, SLOTS, found)
