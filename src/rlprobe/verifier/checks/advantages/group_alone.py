"""A group's advantages are the same whether it is computed alone, on one worker, or in a batch of several groups."""

import numpy as np

from rlprobe.verifier.measure.advantages import estimator, is_grouped, relative, sample, steady
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, passed
from rlprobe.verifier.subject import Subject, shown

TOLERANCE = 1e-3  # of the largest advantage
CHECK = Check(
    id="V215",
    title="a group alone has the advantages that it has in a batch",
    formula="A(one group alone) = A(batch)[that group]",
    stage="advantages",
    category="grouping and order",
    needs=("advantages",),
    fix="Let nothing but the group's own rewards enter its mean and deviation, its size included.",
    causes=("GROUPING_BUG", "RANK_DIVERGENCE"),
)


def run(subject: Subject) -> Outcome:
    """Every group of a batch, computed by itself, in pairs, and together."""
    advantages = steady(subject)
    if not is_grouped(subject, advantages) or estimator(subject).scaling in ("batch", "batch_of_centred"):
        return not_applicable("the batch shares a baseline or a scale")
    size = advantages.group_size
    rewards = sample(subject, CHECK.id, advantages)
    together = advantages(rewards)
    for width in (size, 2 * size):
        alone = np.concatenate([advantages(rewards[start : start + width]) for start in range(0, len(rewards), width)])
        if np.isfinite(together).all() and relative(alone, together) > TOLERANCE:
            return failed(
                "advantages",
                f"Computed {width // size} group(s) at a time, advantages differ by {relative(alone, together):.3g}"
                " of the largest.",
                expected=shown(together),
                got=shown(alone),
                example=advantages.arguments(rewards[:width]),
            )
    return passed()
