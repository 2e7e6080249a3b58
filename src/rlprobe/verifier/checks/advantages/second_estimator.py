"""Two implementations of one estimator (vectorised and plain, fast and slow path) give the same advantages."""

import numpy as np

from rlprobe.verifier import inputs
from rlprobe.verifier.grouping import arranged
from rlprobe.verifier.measure.advantages import relative, sample, steady
from rlprobe.verifier.measure.advantages_temporal import episode
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, passed
from rlprobe.verifier.subject import Subject, shown

TOLERANCE = 1e-3  # of the largest advantage
CHECK = Check(
    id="V230",
    title="both implementations of the advantages agree",
    formula="first(r) = second(r)",
    stage="advantages",
    category="configuration",
    needs=("advantages|gae|whiten",),
    fix="Bring the second implementation to the first one's numbers: ddof, epsilon, grouping, and every switch.",
    causes=("ADVANTAGE_INVALID",),
)


def run(subject: Subject) -> Outcome:
    """Varied, flat and small groups through both; rows of unequal length for GAE and whitening."""
    given = [slot for slot in ("gae", "whiten", "advantages") if slot in subject.pipeline.alternatives]
    if not given:
        return not_applicable("no second implementation was handed over")
    for slot in given:
        outcome = _estimators(subject) if slot == "advantages" else _tokens(subject, slot)
        if outcome.status != "pass":
            return outcome
    return passed()


def _tokens(subject: Subject, slot: str) -> Outcome:
    first, second = subject.function(slot), subject.alternative(slot)
    mask = inputs.mask([6, 3, 5], 6)
    values = {**episode(subject.rng(CHECK.id)), "mask": mask, "gamma": 0.9, "lam": 0.8}
    own = {role: one for role, one in values.items() if first.takes(role) and second.takes(role)}
    expected, found = first(**own)[mask], second(**own)[mask]
    if relative(found, expected) > TOLERANCE:
        return failed(
            f"alternatives:{slot}",
            f"The second implementation differs by up to {relative(found, expected):.3g} of the largest number.",
            expected=shown(expected),
            got=shown(found),
            example=own,
        )
    return passed()


def _estimators(subject: Subject) -> Outcome:
    first = steady(subject)
    second = arranged(subject.second("advantages"), first.group_size)
    rewards = sample(subject, CHECK.id, first)
    flat = rewards.copy()
    flat[: first.group_size] = 1.0
    cases = [(one, first.group_size) for one in (rewards, 0.01 * rewards, flat)]
    if first.any_size and second.any_size:
        cases += [(inputs.rewards(subject.rng(f"{CHECK.id}.{size}"), 5, size), size) for size in (2, 3)]
    for own, size in cases:
        expected, found = first(own, size), second(own, size)
        if np.isfinite(expected).all() and relative(found, expected) > TOLERANCE:
            return failed(
                "alternatives:advantages",
                f"The second implementation differs by up to {relative(found, expected):.3g} of the largest advantage.",
                expected=shown(expected),
                got=shown(found),
                example=first.arguments(own, size),
            )
    return passed()
