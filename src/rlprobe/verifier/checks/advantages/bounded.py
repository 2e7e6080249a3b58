"""An advantage divided by a deviation of n samples is at most the root of n - 1, however close the rewards are."""

import numpy as np

from rlprobe.verifier.measure.advantages import is_centred, sample, steady
from rlprobe.verifier.outcome import Check, Outcome, failed, passed
from rlprobe.verifier.subject import Subject, shown

CLOSE = 1e-6  # spread of a nearly flat group, in a reward's unit
CHECK = Check(
    id="V214",
    title="nearly equal rewards give no huge advantages",
    formula="|A_i| <= sqrt(n - 1), n samples in the group",
    stage="advantages",
    category="constants",
    needs=("advantages",),
    fix="Divide by the deviation of the same rewards that were centred, plus a small epsilon.",
    causes=("ADVANTAGE_INVALID", "GRAD_PATHOLOGY"),
)


def run(subject: Subject) -> Outcome:
    """Groups whose rewards are a millionth apart, all of them and one among varied ones."""
    advantages = steady(subject)
    if not is_centred(subject, advantages):
        return passed("no baseline is subtracted")
    base = sample(subject, CHECK.id, advantages)
    mixed = base.copy()
    mixed[: advantages.group_size] = 0.5 + CLOSE * base[: advantages.group_size]
    for rewards in (0.5 + CLOSE * base, mixed):
        found = advantages(rewards)
        bound = 1.05 * max(float(np.sqrt(len(rewards) - 1.0)), float(np.ptp(rewards)))
        if np.isfinite(found).all() and np.abs(found).max() > bound:
            return failed(
                "advantages",
                f"Rewards {CLOSE:g} apart give an advantage of {np.abs(found).max():.4g}.",
                expected=f"at most {bound:.3g} (root of the number of samples)",
                got=shown(found),
                example=advantages.arguments(rewards),
            )
    return passed()
