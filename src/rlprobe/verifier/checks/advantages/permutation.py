"""The order in which samples and prompts come does not matter: permuted rewards give equally permuted advantages."""

import numpy as np

from rlprobe.verifier.measure.advantages import is_grouped, knows_groups, relative, sample, steady
from rlprobe.verifier.outcome import Check, Outcome, failed, passed
from rlprobe.verifier.subject import Subject, shown

TOLERANCE = 1e-3  # of the largest advantage
CHECK = Check(
    id="V205",
    title="permuted samples have equally permuted advantages",
    formula="A(r[p]) = A(r)[p]",
    stage="advantages",
    category="grouping and order",
    needs=("advantages",),
    fix="Keep result i on reward i; reshape to [prompts, group_size] and back, without a transpose.",
    causes=("GROUPING_BUG", "NO_LEARNING"),
)


def run(subject: Subject) -> Outcome:
    """Groups permuted as blocks, samples inside their groups, and any permutation where there are no groups."""
    advantages = steady(subject)
    rng = subject.rng(CHECK.id)
    size = advantages.group_size
    rewards = sample(subject, CHECK.id, advantages)
    index = np.arange(len(rewards)).reshape(-1, size)
    inside = np.stack([rng.permutation(row) for row in index[:, ::-1]]).reshape(-1)
    orders = {"the groups are permuted": np.roll(index, 1, axis=0).reshape(-1), "samples inside groups are": inside}
    if not knows_groups(advantages) and not is_grouped(subject, advantages):  # groups of a fixed size
        orders["the samples are permuted"] = rng.permutation(len(rewards))
    before = advantages(rewards)
    if not np.isfinite(before).all():
        return passed("not finite: told elsewhere")
    for told, order in orders.items():
        after = advantages(rewards[order])
        gap = relative(after, before[order])
        if gap > TOLERANCE:
            return failed(
                "advantages",
                f"When {told}, advantages change by up to {gap:.3g} of the largest.",
                expected=shown(before[order]),
                got=shown(after),
                example=advantages.arguments(rewards[order]),
            )
    return passed()
