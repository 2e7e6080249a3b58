"""The KL estimator is the declared one (k1, k2, k3, abs), in its value and in its gradient."""

import numpy as np

from rlprobe.verifier.measure.kl_estimators import LOG_RATIOS, MISTAKES, SLOPES, VALUES, Fit, fitted
from rlprobe.verifier.measure.kl_slot import LOGPROB, arguments, slot_fit
from rlprobe.verifier.measure.kl_term import kl_term
from rlprobe.verifier.measure.loss import policy_loss
from rlprobe.verifier.outcome import Check, Outcome, failed, passed, warned
from rlprobe.verifier.subject import Subject, shown

# Names of trainers for the same estimators (verl: kl, mse, low_var_kl; a "+" takes k2's gradient).
SPELLINGS = {"kl": "k1", "mse": "k2", "low_var_kl": "k3", "schulman": "k3"}
CHECK = Check(
    id="V440",
    title="the KL estimator is the declared one",
    formula="k1 = d, k2 = d²/2, k3 = exp(-d) - 1 + d,  d = log p - log q",
    stage="loss",
    category="constants",
    needs=("kl|loss",),
    fix="Use the formula of the declared estimator; let autograd follow all of it.",
    causes=("KL_BLOWUP", "KL_DOMINATES"),
)


def run(subject: Subject) -> Outcome:
    """Curves of value and slope over the log-ratio, fitted to the known estimators."""
    said = subject.declared.text("kl_estimator").rstrip("+")
    declared = SPELLINGS.get(said, said)
    if subject.has("kl"):
        verdict = _slot(subject, declared)
        if verdict is not None:
            return verdict
    if not subject.has("loss"):
        return passed()
    term = kl_term(subject)
    if term is None or not term.present:
        return passed()
    value, slope = fitted(term.rise, LOG_RATIOS, VALUES), fitted(term.slopes, LOG_RATIOS, SLOPES)
    subject.measured["KL estimator (loss)"] = value.name or f"unknown (nearest {value.nearest})"
    mistake = fitted(term.rise, LOG_RATIOS, MISTAKES).name
    example = policy_loss(subject).arguments(term.values)
    verdict = _judged("loss", declared, value, mistake, example, shown(term.rise))
    if verdict is None and value.name and not _pair(value.name, slope.name):
        return failed(
            "loss", f"The KL term has the value of {value.name} and not its gradient (that of {slope.name or 'none'}).",
            expected=shown(SLOPES[value.name](LOG_RATIOS) * value.scale), got=shown(term.slopes), example=example,
            fingerprint="a detach on part of the KL",
        )  # fmt: skip
    return verdict or passed(value.name)


def _slot(subject: Subject, declared: str) -> Outcome | None:
    fit, mistake = slot_fit(subject)
    function = subject.function("kl")
    log_p = np.full((1, len(LOG_RATIOS)), LOGPROB)
    values = arguments(function, log_p, log_p - LOG_RATIOS)
    scaled = fit.name and abs(fit.scale - 1) > 1e-3
    told = Fit(name="", scale=fit.scale, residual=fit.residual, nearest=fit.nearest) if scaled else fit
    return _judged("kl", declared, told, mistake.name, values, shown(function(**values)))


def _judged(
    slot: str, declared: str, fit: Fit, mistake: str, example: dict[str, object], got: str
) -> Outcome | None:  # fmt: skip
    if fit.name and fit.scale > 0 and (not declared or declared == fit.name or declared not in VALUES):
        return None
    expected = declared or "k1, k2, k3 or |k1|"
    if fit.name and fit.scale > 0:
        return failed(slot, f"The estimator is {fit.name}; declared is {declared}.", expected=expected, got=fit.name,
                      example=example, fingerprint=fit.name)  # fmt: skip
    negated = f"{fit.name} negated" if fit.name and fit.scale < 0 else ""
    mark = mistake or negated
    if mark or declared in VALUES:
        return failed(slot, f"The estimator is {mark or 'none of k1, k2, k3'}.", expected=expected, got=got,
                      example=example, fingerprint=mark)  # fmt: skip
    return warned(
        slot, f"The estimator is none of k1, k2, k3, |k1| (nearest {fit.nearest}, off by {fit.residual:.2g}).",
        expected=expected, got=got, example=example,
    )  # fmt: skip


def _pair(value: str, slope: str) -> bool:
    """Whether value and slope go together: the same, k2's (straight through), or of the product with the ratio."""
    return slope in (value, "k2", f"{value} times the ratio")
