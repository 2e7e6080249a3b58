"""A sample without a reward (NaN) reaches no other group; where siblings survive it, it is not in their baseline."""

import numpy as np

from rlprobe.recording.run import FloatArray
from rlprobe.verifier.function import RaisedError
from rlprobe.verifier.grouping import Advantages
from rlprobe.verifier.measure.advantages import estimator, is_centred, is_grouped, relative, sample, steady
from rlprobe.verifier.outcome import Check, Outcome, failed, passed
from rlprobe.verifier.subject import Subject, shown

TOLERANCE = 1e-3  # of the largest advantage
CHECK = Check(
    id="V211",
    title="a sample without a reward leaves the others alone",
    formula="A(r without NaN rows) = A(r) on the other rows",
    stage="advantages",
    category="reward and decoding mismatch",
    needs=("advantages",),
    fix="Leave samples without a reward out of mean, deviation and count, and give them an advantage of 0.",
    causes=("NUMERIC_NAN", "REWARD_NOT_FINITE", "ADVANTAGE_INVALID"),
)


def run(subject: Subject) -> Outcome:
    """One NaN in the first group, in three places; the rest is compared with what they are without it."""
    advantages = steady(subject)
    if not is_centred(subject, advantages):
        return passed("no baseline is subtracted: samples do not reach each other")
    rewards = sample(subject, CHECK.id, advantages)
    size = advantages.group_size
    before = advantages(rewards)
    for position in (1, 0, size - 1):
        absent = rewards.copy()
        absent[position] = np.nan
        try:
            found = advantages(absent)
        except RaisedError as error:
            return passed(f"rejects NaN: {error.told}"[:120])
        told, expected = _wrong(subject, advantages, before, absent, found, position)
        if told:
            return failed(
                "advantages", told, expected=expected, got=shown(found[:size]), example=advantages.arguments(absent)
            )
    return passed(str(subject.measured.get("missing reward", "")))


def _wrong(
    subject: Subject, advantages: Advantages, before: FloatArray, absent: FloatArray, found: FloatArray, position: int
) -> tuple[str, str]:
    """What is wrong, and what was expected; two empty texts where nothing is."""
    size = advantages.group_size
    siblings = [index for index in range(size) if index != position]
    alone = is_grouped(subject, advantages) and estimator(subject).scaling in ("none", "group")
    if alone and relative(found[size:], before[size:]) > TOLERANCE:
        return "One NaN reward changes the advantages of other groups.", shown(before[size:])
    if not np.isfinite(found[siblings]).all():
        subject.measured["missing reward"] = "a NaN reward makes its whole group NaN"
        return "", ""
    if not np.any(found[:size]):
        subject.measured["missing reward"] = "a NaN reward takes its whole group out"
        return "", ""
    subject.measured["missing reward"] = "a NaN reward is left out"
    if not np.isfinite(found[position]) or abs(found[position]) > TOLERANCE * np.abs(before).max():
        return f"The sample without a reward has advantage {found[position]:.4g}.", "0"
    wanted = _without(subject, absent[siblings], size) if alone else None
    if wanted is not None and relative(found[siblings], wanted) > TOLERANCE:
        scored = absent.copy()
        scored[position] = 0.0
        as_zero = relative(found[siblings], advantages(scored)[siblings]) < TOLERANCE
        told = "is scored 0 and moves its siblings' baseline" if as_zero else "moves the advantages of its siblings"
        return f"A sample without a reward {told}.", shown(wanted)
    return "", ""


def _without(subject: Subject, rewards: FloatArray, size: int) -> FloatArray | None:
    """Advantages of a group that is one sample smaller, by the estimator that was measured; None where none fits."""
    nearest = estimator(subject)
    return nearest.values(rewards, size - 1) if nearest.fits and size > 2 else None
