"""The ratio is computed finely enough to tell log-probs apart that differ by three ten-thousandths of a nat."""

import numpy as np

from rlprobe.verifier.measure.loss import policy_loss
from rlprobe.verifier.measure.loss_clip import planted, relative_weights
from rlprobe.verifier.measure.loss_ratio import ratio_law
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, not_checkable, passed
from rlprobe.verifier.subject import Subject

DRIFT, STEP = -0.1, 3e-4  # nats; bfloat16 resolves 4e-3 of a ratio, float16 5e-4
BOUNDS = (0.5, 1.7)  # of the step that a ratio takes; half precision takes none or several at once
CHECK = Check(
    id="V456",
    title="the ratio resolves small drifts",
    formula="ρ(log p + 3e-4) ≠ ρ(log p)",
    stage="loss",
    category="constants",
    needs=("loss",),
    fix="Subtract and exponentiate log-probs in float32, and cast afterwards.",
    causes=("RATIO_NOT_ONE", "TRAIN_INFER_MISMATCH"),
)


def run(subject: Subject) -> Outcome:
    """Weights of tokens at log-ratios a step apart, on the side that no clip touches."""
    loss = policy_loss(subject)
    if not loss.slopes.autograd:
        return not_checkable("central differences do not resolve so small a drift")
    law = ratio_law(subject)
    drifts = np.linspace(DRIFT, DRIFT - 7 * STEP, 8)
    weights = relative_weights(loss, drifts, 1.0, {})
    if weights is None:
        return not_checkable("ratio 1 gives no gradient: told at V402")
    if (law is not None and law.name == "none") or np.ptp(weights) == 0 == np.ptp(relative_wide(subject)):
        return not_applicable("the weight of a token does not depend on its ratio")
    steps = -np.diff(np.log(np.maximum(weights, 1e-12))) / STEP
    if (steps >= BOUNDS[0]).all() and (steps <= BOUNDS[1]).all():
        return passed()
    return failed(
        "loss",
        f"Log-ratios {STEP:g} nats apart give ratios that differ by {steps.min():.2g} to {steps.max():.2g} times that.",
        expected="1 times",
        got=f"{steps.min():.2g} to {steps.max():.2g} times",
        example=loss.arguments(planted(drifts[:2], np.ones(2))),
        fingerprint="half precision",
    )


def relative_wide(subject: Subject) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Weights at drifts far apart, to tell a coarse ratio from none."""
    found = relative_weights(policy_loss(subject), np.array([-0.3, -0.1]), 1.0, {})
    return np.zeros(1) if found is None else found
