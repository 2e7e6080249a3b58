"""Logits in bfloat16 are normalised in float32: the sum over the vocabulary keeps more digits than its terms."""

import sys

import numpy as np

from rlprobe.verifier.arrays import to_numpy
from rlprobe.verifier.function import RaisedError
from rlprobe.verifier.measure.logprobs import distance, drawn, measured
from rlprobe.verifier.outcome import Check, Outcome, not_applicable, passed, warned
from rlprobe.verifier.subject import Subject, shown

ROUNDING = 2.0**-8  # of the largest log-prob: twice what rounding the result to bfloat16 does
CHECK = Check(
    id="V310",
    title="bfloat16 logits are normalised in float32",
    formula="log p(bfloat16 z) = log p(float32 z) up to 2e-3",
    stage="logprobs",
    category="constants",
    needs=("logprobs",),
    fix="Call log_softmax on logits.float().",
    causes=("TRAIN_INFER_MISMATCH", "RATIO_NOT_ONE"),
)


def run(subject: Subject) -> Outcome:
    """The same bfloat16 logits through the function and through float64."""
    function = measured(subject)
    convention = function.function.convention
    if convention is None or convention.framework != "torch":
        return not_applicable("the function does not speak torch")
    torch = sys.modules["torch"]
    logits, ids = drawn(subject, CHECK.id)
    if not hasattr(function.function.raw(**function.arguments(logits, ids)), "requires_grad"):
        return not_applicable("the function gives no tensor")
    narrow = torch.from_numpy(logits).to(torch.bfloat16)
    exact = np.asarray(narrow.double().numpy())
    try:
        found = to_numpy(function.function.raw(**{**function.arguments(logits, ids), "logits": narrow}))
    except RaisedError:
        return not_applicable("the function takes no bfloat16")
    gap = distance(found, function.expected(exact, ids))
    subject.measured["log-probs of bfloat16 logits"] = f"off by {gap:.2g} nats"
    if gap > ROUNDING * float(np.abs(found).max()):
        return warned(
            "logprobs",
            f"bfloat16 logits give log-probs that are off by up to {gap:.3g} nats.",
            expected=shown(function.expected(exact, ids)),
            got=shown(found),
        )
    return passed()
