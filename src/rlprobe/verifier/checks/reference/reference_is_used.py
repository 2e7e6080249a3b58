"""The reference log-probs in the loss are those of the reference model, scored as the policy is scored."""

import numpy as np

from rlprobe.verifier.arrays import to_numpy
from rlprobe.verifier.measure.scoring import quiet, scorer
from rlprobe.verifier.measure.stepping import batch, moved_trace, on_mask
from rlprobe.verifier.measure.weights import policy, reference
from rlprobe.verifier.outcome import Check, Outcome, failed, not_checkable, passed
from rlprobe.verifier.subject import Subject, shown

NEAR = 1e-3  # nats
CHECK = Check(
    id="V618",
    title="the loss is given the reference model's log-probs",
    formula="reference log-probs in the loss = score(reference model)",
    stage="reference",
    category="reference drift",
    needs=("model", "ref_model", "train_step", "loss"),
    fix="Score the reference model on the same ids, mask and temperature, and hand that to the loss.",
    causes=("REFERENCE_MISMATCH", "REFERENCE_MOVING"),
)


def run(subject: Subject) -> Outcome:
    """A step from a policy that was moved at random, so that policy and reference differ."""
    if policy(subject) is reference(subject):
        return not_checkable("the reference is the policy itself: told at V601")
    score, given = scorer(subject), batch(subject)
    losses = moved_trace(subject).losses
    if not losses:
        return not_checkable("the loss could not be overheard inside train_step")
    found, new = on_mask(losses[0], "ref_logprobs"), on_mask(losses[0], "logprobs")
    if found is None or new is None:
        return not_checkable("the loss is given no reference log-probs")
    with quiet(score.model, subject.pipeline.ref_model):
        raw = score.function(**score.arguments(given.ids, given.mask, model=subject.pipeline.ref_model))
    wanted = on_mask({**losses[0], "ref_logprobs": raw}, "ref_logprobs")
    if wanted is None or wanted.shape != found.shape:
        return not_checkable("the loss is given another selection of tokens than the scores")
    gap = float(np.abs(found - wanted).max())
    if gap > NEAR:
        own = float(np.abs(found - new).max()) <= NEAR
        return failed(
            "train_step",
            f"The loss is given reference log-probs that are up to {gap:.3g} nats from the reference model's.",
            expected=shown(wanted),
            got=shown(to_numpy(found)),
            fingerprint="they are the policy's own" if own else "",
        )
    return passed()
