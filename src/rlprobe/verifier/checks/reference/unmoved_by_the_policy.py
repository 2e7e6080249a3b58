"""Whatever happens to the policy's trained tensors, the reference scores as before."""

import numpy as np

from rlprobe.verifier.measure.scoring import quiet, scorer
from rlprobe.verifier.measure.stepping import shaken
from rlprobe.verifier.measure.weights import policy, reference, restored
from rlprobe.verifier.outcome import Check, Outcome, failed, not_checkable, passed
from rlprobe.verifier.subject import Subject, shown

STILL = 1e-6  # nats
CHECK = Check(
    id="V611",
    title="changing the policy does not change the reference",
    formula="∂ log q / ∂(policy weights) = 0",
    stage="reference",
    category="reference drift",
    needs=("model", "ref_model"),
    fix="Give the reference modules of its own, adapters and tied embeddings included.",
    causes=("REFERENCE_MOVING",),
)


def run(subject: Subject) -> Outcome:
    """Every trained tensor of the policy is moved at random; both are scored before and after."""
    model, other = policy(subject), reference(subject)
    if model is other:
        return not_checkable("the reference is the policy itself: told at V601")
    score = scorer(subject)
    ids = score.ids(subject.rng(CHECK.id))
    with restored(model, other), quiet(model, other):
        own, theirs = score(ids), score(ids, model=other)
        shaken(model, 0.3)
        own_after, theirs_after = score(ids), score(ids, model=other)
    gap, moved = float(np.abs(theirs_after - theirs).max()), float(np.abs(own_after - own).max())
    if moved <= STILL:
        return not_checkable("the policy's scores do not hang on its trainable tensors")
    if gap > STILL:
        return failed(
            "ref_model",
            f"When the policy's weights move, the reference's scores move by up to {gap:.3g} nats.",
            expected=shown(theirs),
            got=shown(theirs_after),
            example={"ids": ids},
            fingerprint="the reference scores with the policy's tensors" if gap > 0.5 * moved else "",
        )
    return passed()
