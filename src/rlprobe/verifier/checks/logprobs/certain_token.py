"""A token that the logits make certain has a log-prob of 0; any other has one as low as its logit lies below."""

import numpy as np

from rlprobe.verifier.measure.logprobs import TOKENS, VOCABULARY, measured
from rlprobe.verifier.outcome import Check, Outcome, failed, passed
from rlprobe.verifier.subject import Subject, shown

PEAK = 25.0  # nats between the certain token and the rest
NEAR = 1e-3  # nats
CHECK = Check(
    id="V303",
    title="a certain token has log-prob 0",
    formula="z[y] = ∞  =>  log p(y) = 0",
    stage="logprobs",
    category="log-space signs",
    needs=("logprobs",),
    fix="Return log-probabilities (0 is certain), of the token that follows, not of the one that was read.",
    causes=("REF_POLICY_DRIFT_ASYMMETRY", "RATIO_NOT_ONE"),
)


def run(subject: Subject) -> Outcome:
    """Logits that peak on the right token, and on another one."""
    function = measured(subject)
    scale = function.temperature
    ids = np.array([[1, 4, 2, 5, 3], [6, 0, 6, 2, 1]])
    ahead = {"aligned": ids, "zero_first": np.roll(ids, -1, axis=1)}.get(function.layout, np.roll(ids, -1, axis=1))
    for told, peak, wanted in (("certain", ahead, 0.0), ("impossible", (ahead + 1) % VOCABULARY, -PEAK)):
        logits = PEAK * scale * np.eye(VOCABULARY)[peak]
        found = function(logits, ids)
        told_by = found[:, 1 : TOKENS - 1] if function.layout != "shifted" else found[:, : TOKENS - 1]
        if np.abs(told_by - wanted).max() > NEAR:
            return failed(
                "logprobs",
                f"A token that the logits make {told} has log-prob {told_by[0, 0]:.4g}.",
                expected=f"{wanted:g}",
                got=shown(found),
                example=function.arguments(logits, ids),
            )
    return passed()
