"""The importance ratio to the sampler multiplies each token's policy term once."""

import numpy as np

from rlprobe.verifier.measure.loss import on_policy, policy_loss
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, passed
from rlprobe.verifier.subject import Subject, shown

CHECK = Check(
    id="V425",
    title="the importance ratio to the sampler is applied once",
    formula="term_t = min(p_trainer / p_sampler, cap) · policy term_t, once",
    stage="loss",
    category="scaling and aggregation",
    needs=("loss",),
    fix="Multiply the token's policy term by the ratio before masking and averaging.",
    causes=("TRAIN_INFER_MISMATCH", "GRAD_PATHOLOGY"),
)


def run(subject: Subject) -> Outcome:
    """Policy slope with ratios between 0.8 and 1.2 over that with ratio 1."""
    loss = policy_loss(subject)
    if not loss.takes("importance_ratio"):
        return not_applicable("the loss takes no importance ratio")
    values = on_policy(subject, CHECK.id)
    ratio = subject.rng(CHECK.id).uniform(0.8, 1.2, size=np.asarray(values["logprobs"]).shape)
    weighted = {**values, "importance_ratio": ratio}
    plain, found = loss.policy_slope(values), loss.policy_slope(weighted)
    if loss.close(plain * ratio, found, slack=10):
        return passed()
    marks = {
        "ignored": plain,
        "divided by": plain / ratio,
        "squared": plain * ratio**2,
        "averaged": plain * ratio.mean(),
    }
    mark = next((name for name, slope in marks.items() if loss.close(slope, found, slack=10)), "")
    return failed(
        "loss",
        f"The importance ratio is {mark or 'not a factor of the token term'}.",
        expected=shown(plain * ratio),
        got=shown(found),
        example=loss.arguments(weighted),
        fingerprint=f"importance ratio {mark}" if mark else "",
    )
