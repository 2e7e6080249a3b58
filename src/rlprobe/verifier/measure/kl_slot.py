"""The user's KL function as a curve: its estimate for single tokens, whatever it reduces."""

from collections.abc import Callable

import numpy as np

from rlprobe.recording.run import FloatArray
from rlprobe.verifier.function import Function
from rlprobe.verifier.measure.kl_estimators import LOG_RATIOS, MISTAKES, VALUES, Fit, fitted
from rlprobe.verifier.subject import Subject

LOGPROB = -2.0  # nats


def estimator(function: Function) -> Callable[[FloatArray, FloatArray], FloatArray]:
    """(log p [V], log q [V]) -> estimates [V]; a function that reduces is asked token by token."""

    def estimate(log_p: FloatArray, log_q: FloatArray) -> FloatArray:
        found = function(**arguments(function, log_p[None, :], log_q[None, :]))
        if found.size == log_p.size:
            return found.reshape(-1)
        singles = [arguments(function, np.array([[p]]), np.array([[q]])) for p, q in zip(log_p, log_q, strict=True)]
        return np.array([float(function(**one).reshape(-1).mean()) for one in singles])

    return estimate


def arguments(function: Function, log_p: FloatArray, log_q: FloatArray) -> dict[str, object]:
    """Arguments by role, every token counted."""
    values: dict[str, object] = {"logprobs": log_p, "ref_logprobs": log_q, "mask": np.ones(log_p.shape, dtype=bool)}
    return {role: value for role, value in values.items() if function.takes(role)}


def slot_fit(subject: Subject) -> tuple[Fit, Fit]:
    """The estimator that the slot's values are, and the usual mistake that they are."""
    found = subject.remember("kl.fit", lambda: _fit(subject))
    assert isinstance(found, tuple)
    if found[0].name:
        subject.measured["KL estimator (kl)"] = found[0].name
    return found


def _fit(subject: Subject) -> tuple[Fit, Fit]:
    estimate = estimator(subject.function("kl"))
    log_p = np.full(len(LOG_RATIOS), LOGPROB)
    curve = estimate(log_p, log_p - LOG_RATIOS)
    return fitted(curve, LOG_RATIOS, VALUES), fitted(curve, LOG_RATIOS, MISTAKES)
