"""Of two samples of a group the higher reward has the higher advantage; the best is above 0, the worst below."""

import numpy as np

from rlprobe.recording.run import FloatArray
from rlprobe.verifier.measure.advantages import is_centred, is_grouped, sample, steady
from rlprobe.verifier.outcome import Check, Outcome, failed, passed
from rlprobe.verifier.subject import Subject, shown

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
        found = advantages(rewards)
        if not np.isfinite(found).all():
            continue
        hair = HAIR * max(float(np.abs(found).max()), 1e-12)
        for start in range(0, len(rewards), size):
            block = slice(start, start + size)
            told = _disorder(rewards[block], found[block], hair)
            if told:
                return _failed(told, rewards[block], found[block], advantages.arguments(rewards))
        if rewards is distinct and is_centred(subject, advantages):
            blocks = [slice(start, start + size) for start in range(0, len(rewards), size)]
            for block in blocks if is_grouped(subject, advantages) else [slice(None)]:
                own, given = rewards[block], found[block]
                if given[own.argmax()] <= hair or given[own.argmin()] >= -hair:
                    told = (
                        f"The best reward has advantage {given[own.argmax()]:.3g}, the worst {given[own.argmin()]:.3g}."
                    )
                    return _failed(told, own, given, advantages.arguments(rewards))
    return passed()


def _disorder(own: FloatArray, given: FloatArray, hair: float) -> str:
    """What is wrong with the order of advantages; "" where nothing is."""
    differ = own[:, None] > own[None, :]
    steps = (given[:, None] - given[None, :])[differ]
    if np.any(steps < -hair):
        wrong = int((steps < -hair).sum())
        return f"In {wrong} of {len(steps)} pairs of a group the lower reward has the higher advantage."
    return "Samples of one group with different rewards have the same advantage." if np.any(steps <= hair) else ""


def _failed(told: str, own: FloatArray, given: FloatArray, example: dict[str, object]) -> Outcome:
    flipped = len(own) > 1 and np.array_equal(np.argsort(own), np.argsort(-given))
    return failed(
        "advantages",
        told,
        expected="the order of the rewards, the best above 0 and the worst below where a baseline is subtracted",
        got=f"rewards {shown(own)} give {shown(given)}",
        example=example,
        fingerprint="the sign is flipped" if flipped else "",
    )
