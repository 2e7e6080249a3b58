"""Tokens that the mask leaves out teach the policy nothing: other ids there make the same step."""

from dataclasses import replace

import numpy as np

from rlprobe.verifier.measure.scoring import quiet, scorer
from rlprobe.verifier.measure.stepping import Batch, Trace, batch, moved_trace, step
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, not_checkable, passed, warned
from rlprobe.verifier.subject import Subject

SAME = 1e-5  # of the change that the step makes; with every masked term at zero the two are equal bit for bit
NUDGE = 0.3  # as in moved_trace: away from the reference, where a KL term has a slope
STILL = 1e-5  # nats; scores of valid tokens may differ by rounding alone
CHECK = Check(
    id="V621",
    title="masked tokens teach nothing",
    formula="step(ids changed where mask = 0) = step(ids)",
    stage="reference",
    category="masks and alignment",
    needs=("model", "train_step", "score"),
    fix="Shift the mask as the targets are shifted (mask[:, 1:]), and sum the loss over masked-in targets alone.",
    causes=("NO_LEARNING", "GIBBERISH"),
)


def run(subject: Subject) -> Outcome:
    """The step on rows padded on the right, with the padding's ids as they are and exchanged for others."""
    given = batch(subject)
    if not subject.takes("train_step", "mask") or given.mask.all():
        return not_applicable("train_step takes no mask")
    if not given.mask[:, 0].all():
        return not_applicable("with padding on the left, the first token is scored from it")
    other = _exchanged(subject, given)
    if _scores_move(subject, given, other):
        return not_checkable("scores of valid tokens hang on the padding: told at V329")
    first, second = moved_trace(subject), step(subject, other, nudge=NUDGE)
    apart, size = _apart(first, second), _size(first)
    if size == 0.0 or apart <= SAME * size:
        return passed()
    everything = step(subject, replace(given, mask=np.ones_like(given.mask)), nudge=NUDGE)
    own = _apart(first, everything) <= SAME * size
    told = f"Other ids at masked positions change the step by {apart / size:.3g} of its size."
    return (warned if own else failed)(
        "train_step",
        told + (" The mask plays no part: right only where the step makes its own." if own else ""),
        expected="the same step",
        got="another one",
        example={"ids": other.ids, "mask": given.mask, "advantages": given.advantages},
        fingerprint="the mask is not used" if own else "the mask is shifted against the targets, or left out of a term",
    )


def _exchanged(subject: Subject, given: Batch) -> Batch:
    score = scorer(subject)
    ids = score.ids(subject.rng(CHECK.id), rows=given.ids.shape[0], tokens=given.ids.shape[1])
    return replace(given, ids=np.where(given.mask, given.ids, ids))


def _scores_move(subject: Subject, given: Batch, other: Batch) -> bool:
    score = scorer(subject)
    with quiet(score.model):
        gap = np.abs(score(given.ids, given.mask) - score(other.ids, other.mask))
    seen = given.mask[:, 1:]
    return bool(np.where(seen, gap, 0.0).max() > STILL)


def _apart(first: Trace, second: Trace) -> float:
    return sum(float((second.after[name] - value).abs().sum()) for name, value in first.after.items())


def _size(made: Trace) -> float:
    return sum(float((value - made.before[name]).abs().sum()) for name, value in made.after.items())
