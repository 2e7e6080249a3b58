"""A constant added to every reward cancels in the baseline; without a baseline it reaches the advantage in full."""

import numpy as np

from rlprobe.verifier.measure.advantages import is_grouped, relative, sample, steady
from rlprobe.verifier.outcome import Check, Outcome, failed, passed
from rlprobe.verifier.subject import Subject, shown

TOLERANCE = 1e-3  # of the largest advantage
SHIFT = 0.5  # of a reward's unit
CHECK = Check(
    id="V204",
    title="a constant added to all rewards changes no advantage",
    formula="A(r + c) = A(r)",
    stage="advantages",
    category="scaling and aggregation",
    needs=("advantages",),
    fix="Take the baseline from the rewards themselves, with weights that sum to 1.",
    causes=("ADVANTAGE_INVALID",),
)


def run(subject: Subject) -> Outcome:
    """Every reward raised by a constant; then, for a baseline of the group, each group by its own."""
    advantages = steady(subject)
    rewards = sample(subject, CHECK.id, advantages)
    before = advantages(rewards)
    if not np.isfinite(before).all():
        return passed("not finite: told elsewhere")
    subtracts = subject.declared.text("baseline") in ("group", "leave_one_out", "batch")
    for shift in (SHIFT, -3.0):
        after = advantages(rewards + shift)
        cancels = relative(after, before) < TOLERANCE
        if not cancels and (subtracts or relative(after, before + shift) >= TOLERANCE):
            moved = float((after - before).mean())
            return failed(
                "advantages",
                f"Adding {shift:g} to every reward moves the advantages by {moved:.4g} on average.",
                expected="no change" + ("" if subtracts else f" (baseline), or {shift:g} (no baseline)"),
                got=f"{shown(before)} became {shown(after)}",
                example=advantages.arguments(rewards + shift),
                fingerprint="no baseline is subtracted" if relative(after, before + shift) < TOLERANCE else "",
            )
    if is_grouped(subject, advantages) and relative(advantages(rewards + SHIFT), before) < TOLERANCE:
        return _group_by_group(subject)
    return passed()


def _group_by_group(subject: Subject) -> Outcome:
    """A prompt on which everything scores higher: its group's advantages keep their proportions."""
    advantages = steady(subject)
    rewards = sample(subject, CHECK.id, advantages)
    before = advantages(rewards)
    own = np.repeat(np.arange(len(rewards) // advantages.group_size), advantages.group_size)
    raised = rewards + own / 10.0
    after = advantages(raised)
    factor = float((after * before).sum() / max(float((before**2).sum()), 1e-12))
    if factor > 0 and relative(after, factor * before) < TOLERANCE:
        return passed()
    return failed(
        "advantages",
        "Raising all rewards of one prompt changes the advantages of its completions among each other.",
        expected=f"{shown(factor * before)}",
        got=shown(after),
        example=advantages.arguments(raised),
        fingerprint="the baseline holds samples of other groups",
    )
