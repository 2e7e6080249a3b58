"""The KL term weighs the declared coefficient, once, relative to the policy term."""

import numpy as np

from rlprobe.verifier.measure.kl_estimators import LOG_RATIOS, SLOPES, fitted
from rlprobe.verifier.measure.kl_term import KLTerm, kl_term
from rlprobe.verifier.measure.loss import policy_loss
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, not_checkable, passed
from rlprobe.verifier.subject import Subject

EXACT = 1e-2  # relative
CHECK = Check(
    id="V429",
    title="the KL term weighs the declared coefficient",
    formula="loss = policy term + β · KL",
    stage="loss",
    category="constants",
    needs=("loss",),
    fix="Multiply the KL by the coefficient exactly once.",
    causes=("KL_DOMINATES", "KL_BLOWUP", "NO_LEARNING"),
)


def run(subject: Subject) -> Outcome:
    """Slope of the KL term over that of its estimator with coefficient 1."""
    declared = subject.declared.number("kl_coefficient")
    term = kl_term(subject)
    if term is None:
        return not_applicable("the loss takes no reference log-probs")
    loss = policy_loss(subject)
    absent = not term.present or bool(term.settings)  # the term had to be switched on
    if absent:
        subject.measured["KL coefficient"] = 0.0
        if declared:
            return failed("loss", f"The reference plays no part in the loss; the declared coefficient is {declared:g}.",
                          expected=f"{declared:g}", got="0", example=loss.arguments(term.values))  # fmt: skip
        return passed("no KL term")
    found = coefficient(term)
    if found is None:
        return not_checkable("the KL term has the gradient of no known estimator: told at V440")
    value, name = found
    subject.measured["KL coefficient"] = round(value, 6)
    if declared is None:
        return not_applicable(f"no coefficient was declared; measured: {value:.4g} ({name})")
    squares = name == "k2" and not subject.declared.text("kl_estimator")  # some write the square without the half
    if any(abs(value / over - declared) <= EXACT * max(declared, 1e-3) for over in ((1.0, 2.0) if squares else (1.0,))):
        return passed(f"{value:.4g}")
    return failed(
        "loss",
        f"The KL term weighs {value:.4g}; declared is {declared:g}.",
        expected=f"{declared:g}",
        got=f"{value:.4g}",
        example=loss.arguments(term.values),
        fingerprint=_mark(value, declared),
    )


def coefficient(term: KLTerm) -> tuple[float, str] | None:
    """The coefficient and the estimator whose gradient it stands before; None where no known one fits."""
    fit = fitted(term.slopes, LOG_RATIOS, SLOPES)
    total = float(term.policy_weights[term.mask].sum())
    return (fit.scale / total, fit.name) if fit.name and total and np.isfinite(total) else None


def _mark(value: float, declared: float) -> str:
    marks = {"coefficient squared": declared**2, "coefficient left out": 1.0, "twice the coefficient": 2 * declared,
             "half the coefficient": declared / 2, "sign": -declared}  # fmt: skip
    return next((name for name, one in marks.items() if abs(value - one) <= EXACT * abs(one)), "")
