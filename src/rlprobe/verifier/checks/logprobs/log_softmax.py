"""The log-prob of a token is its logit minus the logsumexp of the logits that predict it."""

import numpy as np

from rlprobe.recording.run import FloatArray
from rlprobe.verifier.measure.logprobs import TOLERANCE, WIDE, LogProbs, distance, drawn, laid_out, measured
from rlprobe.verifier.oracles.logprobs import chosen, log_softmax
from rlprobe.verifier.outcome import Check, Outcome, failed, passed
from rlprobe.verifier.shrink import shrink
from rlprobe.verifier.subject import Subject, shown

CHECK = Check(
    id="V302",
    title="log-probs are the log-softmax of the chosen token",
    formula="log p(y_t) = z[y_t] - logsumexp(z),  z = logits at t - 1",
    stage="logprobs",
    category="log-space signs",
    needs=("logprobs",),
    fix="Gather the id's own entry of log_softmax(logits, last axis); logits[:, :-1] go with ids[:, 1:].",
    causes=("RATIO_NOT_ONE", "REF_POLICY_DRIFT_ASYMMETRY", "KL_BLOWUP"),
)


def run(subject: Subject) -> Outcome:
    """Random logits, soft and sharp, against a float64 log-softmax in the layout that comes nearest."""
    function = measured(subject)
    for sharpness in (1.0, 4.0):
        logits, ids = drawn(subject, CHECK.id, sharpness=sharpness)
        values = function.arguments(logits, ids)
        gap = function.off(values)
        if gap > TOLERANCE * sharpness:
            small = shrink(values, "logprobs", lambda v: function.off(v) > TOLERANCE * 4.0, keep="V")
            own, given = np.asarray(small["logits"]), np.asarray(small["ids"])
            return failed(
                "logprobs",
                f"Log-probs are off by up to {gap:.3g} nats.",
                expected=shown(function.expected(own, given)),
                got=shown(function(own, given)),
                example=small,
                fingerprint=_fingerprint(function, logits, ids, function(logits, ids)),
            )
    return passed(str(subject.measured["log-probs"]))


def _fingerprint(
    function: LogProbs, logits: FloatArray, ids: np.ndarray[tuple[int, ...], np.dtype[np.int64]], found: FloatArray
) -> str:
    right = function.expected(logits, ids)
    mistakes: dict[str, FloatArray] = {
        "negated": -right,
        "a probability, not its logarithm": np.exp(right),
        "logarithm to base 2": right / np.log(2.0),
        "the raw logit": right + _normaliser(function, logits),
    }
    if found.shape == ids.shape:
        for layout in WIDE:
            mistakes[f"layout {layout}"] = laid_out(logits, ids, layout)
        mistakes["the next token's id"] = chosen(logits, np.roll(ids, -1, axis=1))
        mistakes["the previous token's id"] = chosen(logits, np.roll(ids, 1, axis=1))
    else:
        mistakes["unshifted: the logits already saw the token"] = chosen(logits[:, 1:], ids[:, 1:])
        mistakes["unshifted: the id is the one before"] = chosen(logits[:, :-1], ids[:, :-1])
    return next((told for told, numbers in mistakes.items() if distance(found, numbers) < TOLERANCE), "")


def _normaliser(function: LogProbs, logits: FloatArray) -> FloatArray:
    """logsumexp of the logits behind each output; what a raw logit lacks."""
    whole = np.asarray(logits[..., 0] - log_softmax(logits)[..., 0])
    if function.layout == "aligned":
        return whole
    inner = whole[:, :-1]
    if function.layout == "shifted":
        return inner
    return np.pad(inner, ((0, 0), (1, 0)) if function.layout == "zero_first" else ((0, 0), (0, 1)))
