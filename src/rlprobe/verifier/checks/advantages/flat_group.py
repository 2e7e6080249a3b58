"""A group whose rewards are all the same has nothing to tell: its advantages are finite and, with a baseline, zero."""

import numpy as np

from rlprobe.verifier.measure.advantages import is_centred, is_grouped, sample, steady
from rlprobe.verifier.outcome import Check, Outcome, failed, passed
from rlprobe.verifier.subject import Subject, shown

NOTHING = 1e-2  # an advantage; rounding of a mean over an epsilon of 1e-8 stays below it
CHECK = Check(
    id="V207",
    title="a group of equal rewards has finite advantages of zero",
    formula="r constant in a group  =>  A = 0 and finite",
    stage="advantages",
    category="constants",
    needs=("advantages",),
    fix="Add a small epsilon (1e-8 to 1e-4) to the standard deviation, outside the square root's argument or inside.",
    causes=("NUMERIC_NAN", "DEGENERATE_GROUPS", "ADVANTAGE_INVALID"),
)


def run(subject: Subject) -> Outcome:
    """All groups flat at several levels, and one flat group among varied ones."""
    advantages = steady(subject)
    size = advantages.group_size
    single = advantages.function.convention is not None and advantages.function.convention.single
    centred, grouped = is_centred(subject, advantages), is_grouped(subject, advantages)
    mixed = sample(subject, CHECK.id, advantages)
    mixed[:size] = 1.0
    cases = [(np.full(3 * size, level), slice(None)) for level in (0.0, 1.0, -2.0, *(() if single else (0.1, 1 / 3)))]
    cases.append((mixed, slice(0, size)))
    for rewards, flat in cases:
        found = advantages(rewards)
        told = ""
        if not np.isfinite(found).all():
            told = f"A group of equal rewards gives {_first_bad(found)}"
        elif centred and (grouped or flat == slice(None)) and np.abs(found[flat]).max() > NOTHING:
            told = f"A group of equal rewards has advantages of {np.abs(found[flat]).max():.4g}"
        if told:
            return failed(
                "advantages",
                f"{told} (every reward {rewards[flat][0]:.4g}).",
                expected="0" if centred else "finite",
                got=shown(found[flat]),
                example=advantages.arguments(rewards),
                fingerprint="division by a deviation of 0" if not np.isfinite(found).all() else "",
            )
    return passed()


def _first_bad(found: "np.ndarray[tuple[int, ...], np.dtype[np.float64]]") -> str:
    return str(found[~np.isfinite(found)][0])
