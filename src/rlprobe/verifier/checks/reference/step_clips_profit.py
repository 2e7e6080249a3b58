"""Where a step clips the ratio, it stops profit alone, also where the loss stands inside the step itself."""

from dataclasses import replace

import numpy as np

from rlprobe.verifier.measure.stepping import Trace, batch, step
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, not_checkable, passed
from rlprobe.verifier.subject import Subject

BEYOND = float(np.log(2.0))  # of the log-ratio: above every upper edge in use, below the edge of a dual clip
CHECK = Check(
    id="V623",
    title="a step keeps what brings the ratio back",
    formula="at ρ = 2: ∂step / ∂A ≠ 0 where A < 0, if it is 0 where A > 0",
    stage="reference",
    category="log-space signs",
    needs=("model", "train_step"),
    fix="Take the minimum of ratio * advantage and clipped ratio * advantage (the maximum of the negatives).",
    causes=("CLIP_SATURATION", "NO_LEARNING", "ENTROPY_COLLAPSE"),
)


def run(subject: Subject) -> Outcome:
    """The step from ratios of 2 with gains, with losses and with neither: which of them it takes notice of."""
    for role in ("advantages", "old_logprobs"):
        if not subject.takes("train_step", role):
            return not_applicable(f"train_step takes no {role}")
    given = batch(subject)
    rows = np.linspace(0.5, 1.0, len(given.advantages))  # of other sizes, which centring in the step does not undo
    gains, losses, neither = (
        step(subject, replace(given, advantages=sign * rows, old_shift=-BEYOND)) for sign in (1.0, -1.0, 0.0)
    )
    takes_gains, takes_losses = not _same(gains, neither), not _same(losses, neither)
    if takes_gains and not takes_losses:
        return failed(
            "train_step",
            "At ratios of 2 a step takes notice of positive advantages and of no negative one.",
            expected="the other way round: the clip stops what carries the ratio further out",
            got="the same weights for negative advantages as for none",
            example={"ids": given.ids, "advantages": -rows, "log_ratio": BEYOND},
            fingerprint="maximum for minimum",
        )
    if not takes_losses:
        return not_checkable("at ratios of 2 no advantage changes the step")
    return passed("it clips" if not takes_gains else "it clips nothing at ratios of 2")


def _same(one: Trace, other: Trace) -> bool:
    return all(value.equal(other.after[name]) for name, value in one.after.items())
