"""Of two samples of a group the higher reward has the higher advantage; the best is above 0, the worst below."""

from collections.abc import Callable

import numpy as np

from rlprobe.recording.run import FloatArray
from rlprobe.verifier.grouping import Advantages
from rlprobe.verifier.measure.advantages import is_centred, is_grouped, sample, steady
from rlprobe.verifier.measure.fewest import smallest
from rlprobe.verifier.outcome import Check, Outcome, failed, passed
from rlprobe.verifier.subject import Subject, shown

Told = tuple[str, FloatArray, FloatArray]  # what is wrong, the rewards of the place and their advantages
HAIR = 1e-9  # of the largest advantage; below it two advantages are the same
CHECK = Check(
    id="V203",
    title="a higher reward in a group gives a higher advantage",
    formula="r_i > r_j in one group  =>  A_i > A_j",
    stage="advantages",
    category="log-space signs",
    needs=("advantages",),
    fix="Reward minus baseline, in this order, sample by sample in the order of the rewards.",
    causes=("ADVANTAGE_INVALID", "NO_LEARNING", "REWARD_COLLAPSE"),
)


def run(subject: Subject) -> Outcome:
    """Order within groups of distinct, binary and almost equal rewards; signs of the extremes."""
    advantages = steady(subject)
    size = advantages.group_size
    distinct = sample(subject, CHECK.id, advantages)
    binary = np.tile(np.arange(size) % 2, 3).astype(np.float64)
    rare = np.zeros(3 * size)
    rare[::size] = 1.0
    for rewards in (distinct, binary, rare, 1.0 - rare):
        if _disordered(advantages, rewards):
            return _failed(advantages, rewards, _disordered)
    if is_centred(subject, advantages):
        misplaced = _misplaced_in_group if is_grouped(subject, advantages) else _misplaced
        if misplaced(advantages, distinct):
            return _failed(advantages, distinct, misplaced)
    return passed()


def _disordered(advantages: Advantages, rewards: FloatArray) -> Told | None:
    """The first group whose advantages are not in the order of its rewards."""
    found = advantages(rewards)
    if not np.isfinite(found).all():
        return None
    hair = _hair(found)
    for block in _groups(advantages, rewards):
        if told := _disorder(rewards[block], found[block], hair):
            return told, rewards[block], found[block]
    return None


def _misplaced_in_group(advantages: Advantages, rewards: FloatArray) -> Told | None:
    """The first group whose best is not above 0, or whose worst is not below."""
    return _beside_zero(rewards, advantages(rewards), _groups(advantages, rewards))


def _misplaced(advantages: Advantages, rewards: FloatArray) -> Told | None:
    """The same of the whole batch."""
    return _beside_zero(rewards, advantages(rewards), [slice(None)])


def _beside_zero(rewards: FloatArray, found: FloatArray, blocks: list[slice]) -> Told | None:
    if not np.isfinite(found).all():
        return None
    for block in blocks:
        own, given = rewards[block], found[block]
        best, worst = given[own.argmax()], given[own.argmin()]
        if np.ptp(own) > 0 and (best <= _hair(found) or worst >= -_hair(found)):
            return f"The best reward has advantage {best:.3g}, the worst {worst:.3g}.", own, given
    return None


def _groups(advantages: Advantages, rewards: FloatArray) -> list[slice]:
    size = advantages.group_size
    return [slice(start, start + size) for start in range(0, len(rewards), size)]


def _hair(found: FloatArray) -> float:
    return HAIR * max(float(np.abs(found).max()), 1e-12)


def _disorder(own: FloatArray, given: FloatArray, hair: float) -> str:
    """What is wrong with the order of advantages; "" where nothing is."""
    differ = own[:, None] > own[None, :]
    steps = (given[:, None] - given[None, :])[differ]
    if np.any(steps < -hair):
        wrong = int((steps < -hair).sum())
        return f"In {wrong} of {len(steps)} pairs of a group the lower reward has the higher advantage."
    return "Samples of one group with different rewards have the same advantage." if np.any(steps <= hair) else ""


def _failed(
    advantages: Advantages, rewards: FloatArray, violation: Callable[[Advantages, FloatArray], Told | None]
) -> Outcome:
    small = smallest(advantages, rewards, lambda candidate: violation(advantages, candidate) is not None)
    found = violation(advantages, small)
    assert found is not None  # it was there on these rewards
    told, own, given = found
    flipped = len(own) > 1 and np.array_equal(np.argsort(own), np.argsort(-given))
    return failed(
        "advantages",
        told,
        expected="the order of the rewards, the best above 0 and the worst below where a baseline is subtracted",
        got=f"rewards {shown(own)} give {shown(given)}",
        example=advantages.arguments(small),
        fingerprint="the sign is flipped" if flipped else "",
    )
