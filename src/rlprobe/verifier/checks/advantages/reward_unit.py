"""The unit of the reward cancels (advantages divided by a deviation) or passes through; nothing lies between."""

import numpy as np

from rlprobe.recording.run import FloatArray
from rlprobe.verifier.measure.advantages import LARGEST_EPSILON, is_centred, relative, sample, steady
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


def run(subject: Subject) -> Outcome:
    """Rewards times 100 and by 100: the advantages' common factor tells the estimator's degree and its epsilon."""
    advantages = steady(subject)
    rewards = sample(subject, CHECK.id, advantages)
    found = {factor: advantages(factor * rewards) for factor in (1.0, FACTOR, 1 / FACTOR)}
    if not is_centred(subject, advantages):  # a constant baseline has a unit of its own
        found = {factor: one - one.mean() for factor, one in found.items()}
    if not all(np.isfinite(one).all() and np.any(one) for one in found.values()):
        return passed("not finite or zero: told elsewhere")
    larger, smaller = _factor(found[FACTOR], found[1.0]), _factor(found[1 / FACTOR], found[1.0])
    if all(relative(found[factor], factor * found[1.0]) < PROPORTION for factor in (FACTOR, 1 / FACTOR)):
        return passed("advantages have the unit of the rewards")
    deviation = float(rewards.reshape(-1, advantages.group_size).std(axis=1).mean())
    allowed_up = (deviation + LARGEST_EPSILON) / deviation + 0.02
    allowed_down = 0.5 * deviation / FACTOR / (deviation / FACTOR + LARGEST_EPSILON)
    steady_scale = 1.0 - PROPORTION <= larger <= allowed_up and smaller >= allowed_down and smaller <= 1.0 + PROPORTION
    if steady_scale and is_centred(subject, advantages):
        subject.measured["advantage scale"] = "independent of the unit of the rewards"
        return passed("advantages do not depend on the unit of the rewards")
    epsilon = deviation * (larger - 1.0) / max(1.0 - larger / FACTOR, 1e-9)
    return failed(
        "advantages",
        f"Rewards times {FACTOR:g} give advantages times {larger:.4g}, rewards by {FACTOR:g} give times {smaller:.4g}.",
        expected="times 1 and times 1 (divided by a deviation), or "
        f"times {FACTOR:g} and times {1 / FACTOR:g} (not divided)",
        got=f"{shown(found[1.0])} became {shown(found[FACTOR])}",
        example=advantages.arguments(rewards),
        fingerprint=_fingerprint(larger, epsilon),
    )


def _factor(after: FloatArray, before: FloatArray) -> float:
    return float((after * before).sum() / (before**2).sum())


def _fingerprint(larger: float, epsilon: float) -> str:
    for degree, mistake in ((2.0, "multiplied by the deviation"), (-1.0, "divided by the variance")):
        if abs(np.log(max(larger, 1e-12)) / np.log(FACTOR) - degree) < 0.02:
            return mistake
    if 1.0 < larger < 0.9 * FACTOR:
        return f"an epsilon of about {epsilon:.2g} on the deviation"
    return ""
