"""Micro-batches add up to the batch: by the normaliser that is handed over, or by the mean over rows."""

import numpy as np

from rlprobe.recording.run import FloatArray
from rlprobe.verifier.measure.loss import PolicyLoss, off_policy, policy_loss
from rlprobe.verifier.measure.loss_inputs import reordered
from rlprobe.verifier.measure.loss_weights import aggregation
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, passed
from rlprobe.verifier.subject import Subject, shown

HALVES = ([0, 1], [2, 3])
CHECK = Check(
    id="V418",
    title="micro-batches add up to the whole batch",
    formula="Σ micro-batch losses = loss(batch)",
    stage="loss",
    category="scaling and aggregation",
    needs=("loss",),
    fix="Divide by the normaliser that is handed over, once, instead of by the micro-batch's own tokens or rows.",
    causes=("LENGTH_BIAS", "GRAD_PATHOLOGY"),
)


def run(subject: Subject) -> Outcome:
    """Slope of a batch against those of its halves."""
    loss = policy_loss(subject)
    family = aggregation(subject).family
    if family == "token_mean" and not loss.takes("normalizer"):
        return not_applicable("a mean over the micro-batch's own tokens; hand over those of the batch")
    values = off_policy(subject, CHECK.id)
    whole = loss.slope(values)
    tokens = int(np.asarray(values["mask"]).sum())
    halves = _halves(loss, values, tokens)
    ways = {"sum": halves, "mean": halves / len(HALVES)}
    fitting = [way for way, slope in ways.items() if loss.close(whole, slope, slack=10)]
    if fitting and (family != "token_mean" or fitting[0] == "sum"):
        return passed(f"the {fitting[0]} over micro-batches")
    return failed(
        "loss",
        "Two halves of a batch with the batch's own normaliser do not add up to the batch.",
        expected=shown(whole),
        got=shown(halves),
        example=loss.arguments({**reordered(values, HALVES[0]), "normalizer": tokens}),
        fingerprint="normaliser ignored" if _ignored(loss, values, tokens) else "",
    )


def _halves(loss: PolicyLoss, values: dict[str, object], tokens: int) -> FloatArray:
    parts = [loss.slope({**reordered(values, half), "normalizer": tokens}) for half in HALVES]
    return np.concatenate(parts)


def _ignored(loss: PolicyLoss, values: dict[str, object], tokens: int) -> bool:
    return loss.takes("normalizer") and loss.close(
        loss.slope({**values, "normalizer": tokens}), loss.slope({**values, "normalizer": 2 * tokens})
    )
