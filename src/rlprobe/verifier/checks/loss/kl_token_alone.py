"""The KL estimate of a token depends on the log-probs of that token alone, and follows autograd like its value."""

import numpy as np

from rlprobe.verifier.measure.kl_estimators import LOG_RATIOS, SLOPES, fitted
from rlprobe.verifier.measure.kl_slot import LOGPROB, arguments, slot_fit
from rlprobe.verifier.outcome import Check, Outcome, failed, not_checkable, passed
from rlprobe.verifier.subject import Subject, shown

CHECK = Check(
    id="V447",
    title="a token's KL depends on that token alone",
    formula="∂kl_t / ∂ log p_s = 0 for s ≠ t",
    stage="loss",
    category="masks and alignment",
    needs=("kl",),
    fix="Subtract the reference's log-prob of the same token, at the same position; reduce elsewhere.",
    causes=("REF_POLICY_DRIFT_ASYMMETRY",),
)


def run(subject: Subject) -> Outcome:
    """Estimates before and after one token's log-prob moves; slope of the curve where there is a graph."""
    function = subject.function("kl")
    rng = subject.rng(CHECK.id)
    log_p = rng.uniform(-3.0, -0.5, size=(2, 4))
    log_q = log_p - rng.uniform(-0.8, 0.8, size=log_p.shape)
    before = function(**arguments(function, log_p, log_q))
    if before.shape != log_p.shape:
        return not_checkable(f"kl gives {before.size} numbers for {log_p.size} tokens: it reduces them")
    for role in (0, 1):
        moved = [log_p.copy(), log_q.copy()]
        moved[role][0, 1] -= 0.5
        after = function(**arguments(function, moved[0], moved[1]))
        others = np.ones(log_p.shape, dtype=bool)
        others[0, 1] = False
        name = ("logprobs", "ref_logprobs")[role]
        if not np.allclose(before[others], after[others], atol=1e-6):
            return failed("kl", f"One token's {name} changes the estimate of others.", expected=shown(before[others]),
                          got=shown(after[others]), example=arguments(function, moved[0], moved[1]))  # fmt: skip
        if abs(before[0, 1] - after[0, 1]) < 1e-3:
            return failed("kl", f"A token's {name} does not change its estimate.", expected="another estimate",
                          got=shown(after[0, 1]), example=arguments(function, moved[0], moved[1]))  # fmt: skip
    return _follows(subject)


def _follows(subject: Subject) -> Outcome:
    function = subject.function("kl")
    log_p = np.full((1, len(LOG_RATIOS)), LOGPROB)
    values = arguments(function, log_p, log_p - LOG_RATIOS)
    slope = function.autograd("logprobs", component=None, **values)
    value, _ = slot_fit(subject)
    if slope is None or not value.name:
        return passed()
    name = fitted(slope.reshape(-1), LOG_RATIOS, SLOPES).name
    if name in (value.name, "k2"):
        return passed(f"value of {value.name}, gradient of {name}")
    return failed(
        "kl", f"The value is that of {value.name}, the gradient that of {name or 'no known estimator'}.",
        expected=shown(SLOPES[value.name](LOG_RATIOS)), got=shown(slope), example=values, fingerprint="partly detached",
    )  # fmt: skip
