"""A sample that is masked out is as good as removed: its reward reaches neither mean nor deviation of its siblings."""

import numpy as np

from rlprobe.verifier.measure.advantages import estimator, relative, sample, steady
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, passed
from rlprobe.verifier.subject import Subject, shown

TOLERANCE = 1e-3  # of the largest advantage
CHECK = Check(
    id="V212",
    title="a masked sample takes no part in its group's baseline",
    formula="A(kept samples alone) = A(all samples)[kept]",
    stage="advantages",
    category="masks and alignment",
    needs=("advantages",),
    fix="Select the kept samples before mean, deviation and count; set the advantage of the others to 0.",
    causes=("ADVANTAGE_INVALID", "GROUPING_BUG"),
)


def run(subject: Subject) -> Outcome:
    """One sample of a group masked: its reward is varied, and the siblings are compared with the group without it."""
    advantages = steady(subject)
    if advantages.layout == "tokens" or not advantages.function.takes("mask"):
        return not_applicable("the function takes no mask of samples")
    rewards = sample(subject, CHECK.id, advantages)
    size = advantages.group_size
    siblings = np.arange(size) != 1
    nearest = estimator(subject)
    for junk in (None, 9.0):
        varied = rewards.copy()
        varied[1] = varied[1] if junk is None else junk
        values = advantages.arguments(varied)
        keep = np.ones(len(rewards), dtype=bool)
        keep[1] = False
        values["mask"] = keep.reshape(np.asarray(values["rewards"]).shape)
        found = advantages.function(**values).reshape(-1)
        if not nearest.fits or size <= 2:
            return passed("no known estimator: told elsewhere")
        wanted = nearest.values(rewards[:size][siblings], size - 1)
        gap = relative(found[:size][siblings], wanted)
        if gap > TOLERANCE or abs(found[1]) > TOLERANCE:
            kept = nearest.values(varied[:size], size)[siblings]
            return failed(
                "advantages",
                f"With one sample of a group masked, its siblings are off by {gap:.3g} of the largest advantage.",
                expected=shown(np.insert(wanted, 1, 0.0)),
                got=shown(found[:size]),
                example=values,
                fingerprint="the mask is ignored" if relative(found[:size][siblings], kept) < TOLERANCE else "",
            )
    return passed()
