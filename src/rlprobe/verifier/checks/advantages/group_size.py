"""The group size is the one that is handed over: groups of two, three and eight each have their own baseline."""

import numpy as np

from rlprobe.verifier import inputs
from rlprobe.verifier.measure.advantages import estimator, relative, steady
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, passed
from rlprobe.verifier.subject import Subject, shown

TOLERANCE = 1e-3  # of the largest advantage
SIZES = (2, 3, 8)
CHECK = Check(
    id="V216",
    title="any group size is taken as it is handed over",
    formula="A(r, n) is right for every group size n",
    stage="advantages",
    category="grouping and order",
    needs=("advantages",),
    fix="Use the group size of the call in every reshape, repeat and division; no literal.",
    causes=("GROUPING_BUG",),
)


def run(subject: Subject) -> Outcome:
    """Three groups of each size against the estimator that was measured at the usual one."""
    advantages = steady(subject)
    if not advantages.any_size:
        return not_applicable("the function has one fixed group size")
    nearest = estimator(subject)
    for size in SIZES:
        rewards = inputs.rewards(subject.rng(f"{CHECK.id}.{size}"), 5, size)
        found = advantages(rewards, size)
        if not np.isfinite(found).all():
            told, expected = f"Groups of {size} samples give {found[~np.isfinite(found)][0]}.", "finite advantages"
        elif nearest.fits and relative(found, nearest.values(rewards, size)) > TOLERANCE:
            wanted = nearest.values(rewards, size)
            told = f"With groups of {size}, advantages are off by {relative(found, wanted):.3g} of the largest."
            expected = shown(wanted)
        else:
            continue
        return failed(
            "advantages", told, expected=expected, got=shown(found), example=advantages.arguments(rewards, size)
        )
    return passed()
