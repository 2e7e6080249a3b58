"""A second implementation of the loss (fused, vectorised) gives the same number and the same slope."""

import numpy as np

from rlprobe.verifier.inputs import loss_input
from rlprobe.verifier.measure.loss import PolicyLoss, harmed, policy_loss
from rlprobe.verifier.measure.loss_inputs import with_hole
from rlprobe.verifier.measure.slopes import slopes_of
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, passed
from rlprobe.verifier.shrink import shrink
from rlprobe.verifier.subject import Subject, shown

SPREADS = (0.05, 1.0)  # nats of drift: inside every clip range, then far outside on both sides
CHECK = Check(
    id="V426",
    title="both implementations of the loss agree",
    formula="first(batch) = second(batch), value and slope",
    stage="loss",
    category="scaling and aggregation",
    needs=("loss",),
    fix="Carry over what the second path lacks (mask, importance ratio, clip range, coefficient), nothing else.",
    causes=("GRAD_PATHOLOGY", "TRAIN_INFER_MISMATCH"),
)


def run(subject: Subject) -> Outcome:
    """Value and slope by both on batches with ratios in every branch, a hole in the mask and importance ratios."""
    if "loss" not in subject.pipeline.alternatives:
        return not_applicable("there is no second implementation of the loss")
    other_function = subject.alternative("loss")
    first = policy_loss(subject)
    rng = subject.rng(CHECK.id)
    for spread in SPREADS:
        base = loss_input(rng, on_policy=True)
        drift = rng.uniform(-spread, spread, size=base.logprobs.shape)
        values = with_hole(harmed(base, drift, rng).values())
        values["importance_ratio"] = rng.uniform(0.8, 1.2, size=drift.shape)
        bare = PolicyLoss(function=other_function, slopes=first.slopes)
        second = PolicyLoss(
            function=other_function, slopes=slopes_of(other_function, "logprobs", bare.arguments(values))
        )
        if not _differ(first, second, values):
            continue
        small = shrink(values, "loss", lambda v, s=second: _differ(first, s, v))  # type: ignore[misc]  # the default binds the loop's value
        return failed(
            "loss",
            "The two implementations of the loss differ.",
            expected=shown(first.value(small)),
            got=shown(second.value(small)),
            example=first.arguments(small),
            fingerprint=_mark(first, second, small),
        )
    return passed()


def _differ(first: PolicyLoss, second: PolicyLoss, values: dict[str, object]) -> bool:
    one, two = first.value(values), second.value(values)
    tolerance = max(first.tolerance, second.tolerance)
    if not abs(one - two) <= 1e-7 + 100 * tolerance * max(abs(one), abs(two)):
        return True
    slopes = first.slope(values), second.slope(values)
    return not (first.close(*slopes, slack=100) or second.close(*slopes, slack=100))


def _mark(first: PolicyLoss, second: PolicyLoss, values: dict[str, object]) -> str:
    neutral = {**values, "importance_ratio": np.ones_like(np.asarray(values["logprobs"]))}
    if not _differ(first, second, neutral):
        return "importance ratio"
    full = {**neutral, "mask": np.ones_like(np.asarray(values["mask"]))}
    return "mask" if not _differ(first, second, full) else ""
