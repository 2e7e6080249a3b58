"""Advantages in float32 are those in float64, also far from zero: the deviation is taken of centred rewards."""

from dataclasses import replace

from rlprobe.verifier.function import RaisedError
from rlprobe.verifier.measure.advantages import is_centred, relative, sample, steady
from rlprobe.verifier.outcome import Check, Outcome, failed, passed
from rlprobe.verifier.subject import Subject, shown

TOLERANCE = 2e-3  # of the largest advantage: float32 rewards near 200 are off by 1e-5, a deviation of 0.3 by 3e-5
OFFSET = 200.0  # of a reward's unit; squares in float32 lose the deviation there
CHECK = Check(
    id="V210",
    title="float32 rewards give the advantages of float64 rewards",
    formula="A(float32(r)) = A(float64(r)) up to rounding",
    stage="advantages",
    category="constants",
    needs=("advantages",),
    fix="Keep rewards in float32 or float64 throughout, and take the variance of centred rewards.",
    causes=("ADVANTAGE_INVALID", "NUMERIC_NAN"),
)


def run(subject: Subject) -> Outcome:
    """The same rewards in both widths, near zero and far from it."""
    advantages = steady(subject)
    convention = advantages.function.convention
    if convention is None or convention.framework == "list" or convention.single:
        return passed("takes one width only")
    narrow = replace(advantages, function=replace(advantages.function, convention=replace(convention, single=True)))
    rewards = sample(subject, CHECK.id, advantages)
    offsets = (0.0, OFFSET) if is_centred(subject, advantages) else (0.0,)
    for offset in offsets:
        expected = advantages(rewards)
        try:
            found = narrow(rewards + offset)
        except RaisedError:
            return passed("takes float64 only")
        if relative(found, expected) > TOLERANCE:
            return failed(
                "advantages",
                f"In float32, rewards around {offset:g} give advantages that are off by up to"
                f" {relative(found, expected):.3g} of the largest.",
                expected=shown(expected),
                got=shown(found),
                example=advantages.arguments(rewards + offset),
            )
    return passed()
