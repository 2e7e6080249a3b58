"""Rewards of another prompt reach a sample's advantage only through a baseline and a scale that the batch shares."""

import numpy as np

from rlprobe.recording.run import FloatArray
from rlprobe.verifier.measure.advantages import is_grouped, relative, sample, steady
from rlprobe.verifier.outcome import Check, Outcome, failed, passed
from rlprobe.verifier.subject import Subject, shown

TOLERANCE = 1e-3  # of the largest advantage
CHECK = Check(
    id="V206",
    title="rewards of one group do not reach the advantages of another",
    formula="∂A_i / ∂r_j = 0 where i and j are of different groups",
    stage="advantages",
    category="grouping and order",
    needs=("advantages",),
    fix="Take mean and deviation along the generations of each prompt (the last axis of [prompts, group_size]).",
    causes=("GROUPING_BUG", "ADVANTAGE_INVALID"),
)


def run(subject: Subject) -> Outcome:
    """Rewards of each group in turn are changed; the advantages of all other groups may move by one affine map only."""
    advantages = steady(subject)
    size = advantages.group_size
    rewards = sample(subject, CHECK.id, advantages)
    before = advantages(rewards)
    grouped = is_grouped(subject, advantages)
    for group in range(len(rewards) // size):
        block = slice(group * size, (group + 1) * size)
        changed = rewards.copy()
        changed[block] = 0.2 + 3.0 * rewards[block] ** 2
        after = advantages(changed)
        others = np.ones(len(rewards), dtype=bool)
        others[block] = False
        if not (np.isfinite(before).all() and np.isfinite(after).all()):
            return passed("not finite: told elsewhere")
        expected = _shared(before[others], after[others], centred=grouped)
        if relative(after[others], expected) > TOLERANCE:
            return failed(
                "advantages",
                f"Changing the rewards of group {group} changes advantages of other groups"
                f" from {shown(before[others])} to {shown(after[others])}.",
                expected="no change" if grouped else "one baseline and one scale for the whole batch",
                got=shown(after[others]),
                example=advantages.arguments(changed),
            )
    return passed()


def _shared(before: FloatArray, after: FloatArray, *, centred: bool) -> FloatArray:
    """What one positive factor (and, without a baseline of the group, one constant) makes of the earlier advantages."""
    columns = [before] if centred else [before, np.ones_like(before)]
    design = np.stack(columns, axis=1)
    weights, *_ = np.linalg.lstsq(design, after, rcond=None)
    if weights[0] <= 0:
        return before
    return design @ weights
