"""Groups are told by their ids alone: samples may be interleaved, ids have gaps, and groups differ in size."""

import numpy as np

from rlprobe.verifier.measure.advantages import estimator, relative, sample, steady
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, passed
from rlprobe.verifier.subject import Subject, shown

TOLERANCE = 1e-3  # of the largest advantage
CHECK = Check(
    id="V213",
    title="groups are told by their ids, not by their place",
    formula="A(r[p], ids[p]) = A(r, ids)[p]",
    stage="advantages",
    category="grouping and order",
    needs=("advantages",),
    fix="Gather the samples of each id, and scatter the result back to the same places.",
    causes=("GROUPING_BUG", "NO_LEARNING"),
)


def run(subject: Subject) -> Outcome:
    """The same groups in another order, under other ids; then groups of two, three and more samples."""
    advantages = steady(subject)
    if not advantages.function.takes("group_ids"):
        return not_applicable("the function takes no group ids")
    rng = subject.rng(CHECK.id)
    rewards = sample(subject, CHECK.id, advantages)
    size = advantages.group_size
    ids = np.arange(len(rewards)) // size
    order = rng.permutation(len(rewards))
    renamed = 3 + 7 * ((ids * 2) % (len(rewards) // size) if (len(rewards) // size) % 2 else ids)
    cases = {"interleaved samples": ids, "ids with gaps": renamed}
    before = advantages(rewards, group_ids=ids)
    for told, own in cases.items():
        found = advantages(rewards[order], group_ids=own[order])
        if relative(found, before[order]) > TOLERANCE:
            return failed(
                "advantages",
                f"With {told}, advantages differ by up to {relative(found, before[order]):.3g} of the largest.",
                expected=shown(before[order]),
                got=shown(found),
                example=advantages.arguments(rewards[order], group_ids=own[order]),
            )
    if advantages.function.takes("group_size") or not estimator(subject).fits:
        return passed()
    return _unequal(subject)


def _unequal(subject: Subject) -> Outcome:
    advantages = steady(subject)
    sizes = (2, 3, 6)
    ids = np.repeat(np.arange(len(sizes)), sizes)
    rewards = subject.rng(CHECK.id).permutation(len(ids)) / len(ids)
    nearest = estimator(subject)
    if nearest.scaling not in ("none", "group") or nearest.baseline == "batch":
        return passed()
    wanted = np.concatenate([nearest.values(rewards[ids == one], int((ids == one).sum())) for one in range(len(sizes))])
    order = subject.rng(CHECK.id + "order").permutation(len(ids))
    found = advantages(rewards[order], group_ids=ids[order])
    if relative(found, wanted[order]) > TOLERANCE:
        return failed(
            "advantages",
            f"With groups of {sizes} samples, advantages differ by up to {relative(found, wanted[order]):.3g}"
            " of the largest.",
            expected=shown(wanted[order]),
            got=shown(found),
            example=advantages.arguments(rewards[order], group_ids=ids[order]),
        )
    return passed()
