"""The gradient of a log-prob by its logits is one-hot minus softmax: it raises the token and lowers all others."""

import numpy as np

from rlprobe.verifier.measure.logprobs import TOLERANCE, VOCABULARY, distance, drawn, measured
from rlprobe.verifier.oracles.logprobs import log_softmax
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, passed
from rlprobe.verifier.subject import Subject, shown

CHECK = Check(
    id="V311",
    title="the gradient by the logits is one-hot minus softmax",
    formula="∂ log p(y) / ∂z = onehot(y) - softmax(z)",
    stage="logprobs",
    category="gradient breakage",
    needs=("logprobs",),
    fix="Keep logits and normaliser in the graph: no detach, item, numpy or no_grad on the way.",
    causes=("ZERO_GRADIENT", "NO_LEARNING"),
)


def run(subject: Subject) -> Outcome:
    """Autograd of the sum of all log-probs; functions without autograd have none to break."""
    function = measured(subject)
    convention = function.function.convention
    if convention is None or convention.framework != "torch":
        return not_applicable("the function does not speak torch")
    logits, ids = drawn(subject, CHECK.id)
    values = function.arguments(logits, ids)
    if not hasattr(function.function.raw(**values), "requires_grad"):
        return not_applicable("the function gives no tensor")
    found = function.function.autograd("logits", component=None, **values)
    if found is None:
        return failed(
            "logprobs",
            "The log-probs have no graph: no gradient reaches the logits.",
            expected="a result that requires grad",
            got="a result that does not",
            example=values,
            fingerprint="detached",
        )
    scaled = logits / function.temperature
    slope = np.eye(VOCABULARY)[ids] if function.layout == "aligned" else np.eye(VOCABULARY)[np.roll(ids, -1, axis=1)]
    wanted = (slope - np.exp(log_softmax(scaled))) / function.temperature
    if function.layout != "aligned":
        wanted[:, -1] = 0.0
    gap = distance(found, wanted)
    if gap > TOLERANCE:
        return failed(
            "logprobs",
            f"The gradient by the logits is off by up to {gap:.3g}.",
            expected=shown(wanted),
            got=shown(found),
            example=values,
            fingerprint="detached" if not np.any(found) else "",
        )
    return passed()
