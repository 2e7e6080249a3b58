"""The estimator that the code is, is the one that is declared: its baseline and what it is divided by."""

from rlprobe.verifier.measure.advantages import (
    KNOWN,
    LARGEST_EPSILON,
    Estimator,
    estimator,
    knows_groups,
    sample,
    steady,
)
from rlprobe.verifier.outcome import Check, Outcome, failed, passed, warned
from rlprobe.verifier.subject import Subject, shown

CHECK = Check(
    id="V209",
    title="the estimator is the declared one",
    formula="A(r) = (r - baseline(r)) / scale(r), as declared",
    stage="advantages",
    category="configuration",
    needs=("advantages",),
    fix="Follow the setting: compare it with every value that it may have, and hand it down to this function.",
    causes=("ADVANTAGE_INVALID", "CONFIG_MISUSE", "GROUPING_BUG"),
)
# What an algorithm's paper divides by; a declared advantage_scaling stands above it.
PAPER_SCALING = {"grpo": "group", "dapo": "group", "gspo": "group", "reinforce_pp": "batch"}
_SAME = {"batch_of_centred": "batch"}
_GROUPED = ("group", "leave_one_out")


def run(subject: Subject) -> Outcome:
    """The nearest of the known estimators against what is declared."""
    advantages = steady(subject)
    found = estimator(subject)
    rewards = sample(subject, CHECK.id, advantages)
    given = advantages(rewards)
    baseline = subject.declared.text("baseline")
    scaling = subject.declared.text("advantage_scaling") or PAPER_SCALING.get(subject.declared.text("algorithm"), "")
    wanted = ", ".join(f"{name} {value}" for name, value in (("baseline", baseline), ("scaling", scaling)) if value)
    if found.fits:
        subject.measured["advantages"] = found.told
    told = f"The advantages are {found.told}" if found.fits else (
        f"The advantages are no known estimator; nearest, off by {found.residual:.3g} of the largest: {found.told}"
    )  # fmt: skip
    mistake = _mistake(found, baseline, scaling)
    if mistake:
        return failed(
            "advantages",
            f"{told}.",
            expected=wanted or "a published estimator",
            got=shown(given),
            example=advantages.arguments(rewards),
            fingerprint=mistake,
        )
    if not found.fits:
        return warned("advantages", f"{told}.", expected="a published estimator", got=shown(given))
    if found.baseline in ("batch", "none") and knows_groups(advantages) and not baseline:
        return warned("advantages", f"{told}; the groups that it is given are not used.", expected="a group's baseline")
    return passed(found.told)


def _mistake(found: Estimator, baseline: str, scaling: str) -> str:
    """What is wrong, in a few words; "" where nothing is."""
    if not found.fits:
        return "not the declared estimator" if baseline and _is_name(baseline) else ""
    # Divided by a deviation, the group's mean and the mean of the others give the same numbers.
    same = found.scaling != "none" and {found.baseline, baseline} == set(_GROUPED)
    if baseline and _is_name(baseline) and found.baseline != baseline and not same:
        return f"baseline {found.baseline} instead of {baseline}"
    measured = _SAME.get(found.scaling, found.scaling)
    if scaling in ("none", "group", "batch") and measured != scaling:
        return f"divided by {measured} instead of {scaling}"
    if abs(found.epsilon) > (LARGEST_EPSILON**2 if found.in_variance else LARGEST_EPSILON):
        return f"epsilon {found.epsilon:.2g}"
    if found.baseline != "median" and (found.baseline, found.scaling) not in KNOWN:
        return f"baseline {found.baseline}, divided by {measured}: no estimator has both"
    return ""


def _is_name(baseline: str) -> bool:
    return baseline in ("none", "batch", *_GROUPED)
