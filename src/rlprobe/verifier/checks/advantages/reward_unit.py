"""The unit of the reward cancels (advantages divided by a deviation) or passes through; nothing lies between."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rlprobe.recording.run import FloatArray
from rlprobe.verifier.grouping import Advantages
from rlprobe.verifier.measure.advantages import LARGEST_EPSILON, is_centred, relative, sample, steady
from rlprobe.verifier.measure.fewest import smallest
from rlprobe.verifier.outcome import Check, Outcome, failed, passed
from rlprobe.verifier.subject import Subject, shown

FACTOR = 100.0  # of the rewards
PROPORTION = 1e-3  # of the largest advantage, where a constant and epsilon-free scale is expected
CHECK = Check(
    id="V208",
    title="advantages scale with the rewards or not at all",
    formula="A(c · r) = A(r), or A(c · r) = c · A(r)",
    stage="advantages",
    category="constants",
    needs=("advantages",),
    fix="Divide by the standard deviation plus a small epsilon (1e-8 to 1e-4), once, or do not divide.",
    causes=("ADV_COLLAPSE", "ADVANTAGE_INVALID"),
)


@dataclass(frozen=True, slots=True)
class Scaling:
    """What becomes of the advantages as rewards are multiplied by FACTOR, and by its inverse.

    Attributes:
        found: advantages [N] by factor of the rewards.
        larger, smaller: their common factors.
        linear, constant: whether they follow the rewards, or do not change.
        epsilon: added to the deviation, where that explains the factors.
    """

    found: Mapping[float, FloatArray]
    larger: float
    smaller: float
    linear: bool
    constant: bool
    epsilon: float


def run(subject: Subject) -> Outcome:
    """Rewards times 100 and by 100: the advantages' common factor tells the estimator's degree and its epsilon."""
    advantages = steady(subject)
    rewards = sample(subject, CHECK.id, advantages)
    centred = is_centred(subject, advantages)
    scaling = _scaling(advantages, rewards, centred=centred)
    if scaling is None:
        return passed("not finite or zero: told elsewhere")
    if scaling.linear:
        return passed("advantages have the unit of the rewards")
    if scaling.constant:
        subject.measured["advantage scale"] = "independent of the unit of the rewards"
        return passed("advantages do not depend on the unit of the rewards")
    small = smallest(advantages, rewards, lambda candidate: _broken(_scaling(advantages, candidate, centred=centred)))
    shrunk = _scaling(advantages, small, centred=centred) or scaling
    found = shrunk.found
    return failed(
        "advantages",
        f"Rewards times {FACTOR:g} give advantages times {shrunk.larger:.4g}, "
        f"rewards by {FACTOR:g} give times {shrunk.smaller:.4g}.",
        expected="times 1 and times 1 (divided by a deviation), or "
        f"times {FACTOR:g} and times {1 / FACTOR:g} (not divided)",
        got=f"{shown(found[1.0])} became {shown(found[FACTOR])}",
        example=advantages.arguments(small),
        fingerprint=_fingerprint(scaling.larger, scaling.epsilon),
    )


def _scaling(advantages: Advantages, rewards: FloatArray, *, centred: bool) -> Scaling | None:
    """What the rewards' unit does; None where advantages are not finite or zero."""
    found = {factor: advantages(factor * rewards) for factor in (1.0, FACTOR, 1 / FACTOR)}
    if not centred:  # a constant baseline has a unit of its own
        found = {factor: one - one.mean() for factor, one in found.items()}
    deviation = float(rewards.reshape(-1, advantages.group_size).std(axis=1).mean())
    if not deviation or not all(np.isfinite(one).all() and np.any(one) for one in found.values()):
        return None
    larger, smaller = _factor(found[FACTOR], found[1.0]), _factor(found[1 / FACTOR], found[1.0])
    allowed_up = (deviation + LARGEST_EPSILON) / deviation + 0.02
    allowed_down = 0.5 * deviation / FACTOR / (deviation / FACTOR + LARGEST_EPSILON)
    steady_scale = 1.0 - PROPORTION <= larger <= allowed_up and smaller >= allowed_down and smaller <= 1.0 + PROPORTION
    return Scaling(
        found=found,
        larger=larger,
        smaller=smaller,
        linear=all(relative(found[one], one * found[1.0]) < PROPORTION for one in (FACTOR, 1 / FACTOR)),
        constant=steady_scale and centred,
        epsilon=deviation * (larger - 1.0) / max(1.0 - larger / FACTOR, 1e-9),
    )


def _broken(scaling: Scaling | None) -> bool:
    return scaling is not None and not scaling.linear and not scaling.constant


def _factor(after: FloatArray, before: FloatArray) -> float:
    return float((after * before).sum() / (before**2).sum())


def _fingerprint(larger: float, epsilon: float) -> str:
    for degree, mistake in ((2.0, "multiplied by the deviation"), (-1.0, "divided by the variance")):
        if abs(np.log(max(larger, 1e-12)) / np.log(FACTOR) - degree) < 0.02:
            return mistake
    if 1.0 < larger < 0.9 * FACTOR:
        return f"an epsilon of about {epsilon:.2g} on the deviation"
    return ""
