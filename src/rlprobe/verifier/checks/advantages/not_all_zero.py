"""Rewards that differ within a group give advantages that are not all zero, and not vanishingly small."""

import numpy as np

from rlprobe.verifier import inputs
from rlprobe.verifier.outcome import Check, Outcome, failed, passed
from rlprobe.verifier.subject import Subject, shown

VANISHING = 1e-6  # of the rewards' own spread; no estimator shrinks a difference so far
CHECK = Check(
    id="V201",
    title="varied rewards give advantages that are not zero",
    formula="std(r in a group) > 0  =>  max |A| > 0",
    stage="advantages",
    category="constants",
    needs=("advantages",),
    fix="Subtract the baseline from the rewards themselves, not from their mean or from a constant.",
    causes=("ADV_COLLAPSE", "NO_LEARNING"),
)


def run(subject: Subject) -> Outcome:
    """Advantages of three groups of different rewards."""
    advantages = subject.advantages()
    rewards = inputs.rewards(subject.rng(CHECK.id), 3, advantages.group_size)
    found = advantages(rewards)
    if np.isfinite(found).all() and np.abs(found).max() <= VANISHING * np.ptp(rewards):
        return failed(
            "advantages",
            "Every advantage is zero although the rewards differ.",
            expected="some |advantage| > 0",
            got=shown(found),
            example=advantages.arguments(rewards),
        )
    return passed()
