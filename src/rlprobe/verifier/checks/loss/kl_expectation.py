"""Summed exactly over a vocabulary of six tokens, the sampled estimate of the KL is the KL."""

import numpy as np

from rlprobe.verifier.measure.kl_estimators import BIASED, LOG_RATIOS, MISTAKES, VALUES, bias, fitted
from rlprobe.verifier.measure.kl_slot import arguments, estimator, slot_fit
from rlprobe.verifier.measure.kl_term import kl_term, token_term
from rlprobe.verifier.measure.loss import policy_loss
from rlprobe.verifier.oracles.kl import policies
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, passed
from rlprobe.verifier.subject import Subject

EXACT = 2e-3  # relative
CHECK = Check(
    id="V421",
    title="the expectation of the KL estimate is the KL",
    formula="Σ_y p(y) · kl(y) = Σ_y p(y) log(p(y) / q(y))",
    stage="loss",
    category="log-space signs",
    needs=("kl|loss",),
    fix="Use log-prob - ref (k1), or exp(ref - log-prob) - (ref - log-prob) - 1 (k3).",
    causes=("KL_BLOWUP", "KL_DOMINATES"),
)


def run(subject: Subject) -> Outcome:
    """Expectation over the exact KL of three pairs of policies; k2 and |k1| are biased by definition."""
    if subject.has("kl"):
        fit, mistake = slot_fit(subject)
        mean, spread = bias(estimator(subject.function("kl")))
        if not (fit.name in BIASED and fit.scale > 0) and not (abs(mean - 1) <= EXACT and spread <= EXACT):
            p, q = policies()[0]
            return failed(
                "kl", f"The expected estimate is {mean:.4g} times the exact KL (it varies by {spread:.2g}).",
                expected="1 for every pair of policies", got=f"{mean:.4g}", fingerprint=mistake.name,
                example=arguments(subject.function("kl"), np.log(p)[None, :], np.log(q)[None, :]),
            )  # fmt: skip
    if not subject.has("loss"):
        return passed()
    term = kl_term(subject)
    if term is None or not term.present:
        return passed() if subject.has("kl") else not_applicable("the loss has no KL term")
    loss = policy_loss(subject)
    fit = fitted(term.rise, LOG_RATIOS, VALUES)
    if fit.name in BIASED and fit.scale > 0:
        return passed(f"{fit.name} is no unbiased estimate, by definition")
    mean, spread = bias(lambda log_p, log_q: token_term(loss, term.settings, log_p, log_q))
    if mean > 0 and spread <= EXACT * mean:
        return passed()
    return failed(
        "loss",
        f"The KL term is no multiple of the exact KL: {mean:.4g} times on the average, varying by {spread:.2g}.",
        expected="one positive factor for every pair of policies",
        got=f"{mean:.4g}, varying by {spread:.2g}",
        fingerprint=fitted(term.rise, LOG_RATIOS, MISTAKES).name,
        example=loss.arguments(term.values),
    )
