"""Advantages that subtract a baseline are centred on it: their mean over the group (or over the batch) is 0."""

import numpy as np

from rlprobe.recording.run import FloatArray
from rlprobe.verifier.grouping import Advantages
from rlprobe.verifier.measure.advantages import is_centred, sample, steady
from rlprobe.verifier.measure.fewest import smallest
from rlprobe.verifier.outcome import Check, Outcome, failed, passed, warned
from rlprobe.verifier.subject import Subject, shown

TOLERANCE = 1e-3  # of the largest advantage
CHECK = Check(
    id="V202",
    title="advantages are centred on their baseline",
    formula="mean(A over the baseline's samples) = 0",
    stage="advantages",
    category="scaling and aggregation",
    needs=("advantages",),
    fix="Subtract the mean of the same samples that the advantage is compared with.",
    causes=("ADVANTAGE_INVALID",),
)


def run(subject: Subject) -> Outcome:
    """Means by group and over the batch of varied rewards."""
    advantages = steady(subject)
    declared = subject.declared.text("baseline")
    if not is_centred(subject, advantages) and declared not in ("group", "leave_one_out", "batch"):
        return passed("no baseline is subtracted")
    rewards = sample(subject, CHECK.id, advantages)
    own = declared in ("group", "leave_one_out")
    by_group, over_batch, centred = _means(advantages, rewards, own_group=own)
    if centred:
        return passed(f"mean 0 {'in every group' if by_group <= TOLERANCE else 'over the batch'}")
    small = smallest(advantages, rewards, lambda candidate: not _means(advantages, candidate, own_group=own)[2])
    by_group, over_batch, _ = _means(advantages, small, own_group=own)
    told = f"The mean advantage is up to {by_group:.3g} of the largest in a group, {over_batch:.3g} over the batch."
    outcome = failed if declared else warned
    return outcome(
        "advantages",
        told,
        expected=f"0 ({declared or 'group or batch'} baseline)",
        got=shown(advantages(small)),
        example=advantages.arguments(small),
        fingerprint="no baseline is subtracted" if not is_centred(subject, advantages) else "",
    )


def _means(advantages: Advantages, rewards: FloatArray, *, own_group: bool) -> tuple[float, float, bool]:
    """Largest mean of a group and mean of the batch, by the largest advantage; whether the wanted one is 0."""
    found = advantages(rewards)
    largest = max(float(np.abs(found).max()), 1e-12)
    by_group = float(np.abs(found.reshape(-1, advantages.group_size).mean(axis=1)).max()) / largest
    over_batch = float(np.abs(found.mean())) / largest
    wanted = by_group if own_group else min(by_group, over_batch)
    return by_group, over_batch, bool(not wanted > TOLERANCE and np.isfinite(found).all())
