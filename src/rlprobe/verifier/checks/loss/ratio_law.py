"""Off policy, a token weighs its importance ratio: its own, its sequence's, or none at all."""

import numpy as np

from rlprobe.verifier.measure.loss import policy_loss
from rlprobe.verifier.measure.loss_clip import clip_curve
from rlprobe.verifier.measure.loss_ratio import ratio_law as measured_law
from rlprobe.verifier.outcome import Check, Outcome, failed, not_checkable, passed, warned
from rlprobe.verifier.subject import Subject, shown

LEVELS = {"token": ("token",), "sequence": ("sequence", "sequence_sum"), "sequence_token": ("sequence",)}
BY_ALGORITHM = {
    "gspo": ("sequence",),
    "gspo_token": ("sequence",),
    "cispo": ("token",),
    "dapo": ("token",),
    "ppo": ("token",),
    "grpo": ("token", "sequence"),
    "dr_grpo": ("token", "sequence"),
}
CHECK = Check(
    id="V439",
    title="off policy a token weighs its importance ratio",
    formula="w_t(ρ) = ρ_t · w_t(1), or the sequence's ρ, or 1",
    stage="loss",
    category="log-space signs",
    needs=("loss",),
    fix="ratio = exp(log-prob - old log-prob); for a sequence the mean of that difference over its unmasked tokens.",
    causes=("CLIP_SATURATION", "GRAD_PATHOLOGY"),
)


def run(subject: Subject) -> Outcome:
    """Weights of drifted tokens over those at ratio 1, against every known law."""
    law = measured_law(subject)
    if law is None:
        return not_checkable("some tokens get no gradient at ratio 1: told at V402 and V437")
    loss = policy_loss(subject)
    example = loss.arguments(law.values)
    mask = np.asarray(law.values["mask"], dtype=bool)
    declared = subject.declared.text("ratio")
    by_algorithm = BY_ALGORITHM.get(subject.declared.text("algorithm"), ())
    expected = by_algorithm or LEVELS.get(declared, ())
    curve = clip_curve(subject)
    if law.name == "none" and curve.low is not None and curve.high is not None:
        return failed(
            "loss",
            "The loss clips a ratio and weights tokens by none.",
            expected="a weight of exp(log-prob - old log-prob)",
            got=shown(law.weights[mask]),
            example=example,
            fingerprint="ratio without exp",
        )
    steps = subject.declared.number("inner_steps")
    once = steps == 1 or (steps is None and not loss.takes("old_logprobs"))
    if law.correct and law.name == "none" and once:
        return passed("no ratio; right for one inner step")
    if law.correct and (not expected or law.name in expected):
        return passed(f"ratio law: {law.name}")
    told = {"expected": " or ".join(expected) or "a token's or a sequence's ratio", "got": shown(law.weights[mask]),
            "example": example, "fingerprint": "" if law.name == "unknown" else f"ratio law: {law.name}"}  # fmt: skip
    if law.name == "unknown":
        statement = f"The weights of drifted tokens follow no known ratio, not even {law.nearest}."
        verdict = failed if expected else warned
        return verdict("loss", statement, **told)  # type: ignore[arg-type]  # keywords by name
    return failed("loss", f"The weights of drifted tokens follow the law {law.name!r}.", **told)  # type: ignore[arg-type]  # keywords by name
