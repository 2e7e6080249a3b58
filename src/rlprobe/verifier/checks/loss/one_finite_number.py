"""A policy loss is one finite number, the same for the same input, and torch can follow it back to the log-probs."""

import numpy as np

from rlprobe.verifier.measure.loss import off_policy, on_policy, policy_loss
from rlprobe.verifier.outcome import Check, Outcome, failed, passed
from rlprobe.verifier.subject import Subject, shown

CHECK = Check(
    id="V401",
    title="the loss is one finite number with a gradient",
    formula="loss ∈ ℝ finite, with a gradient by log p",
    stage="loss",
    category="gradient breakage",
    needs=("loss",),
    fix="Return the reduced tensor itself: no .item(), no float(), no detach on the path from the log-probs.",
    causes=("ZERO_GRADIENT", "NUMERIC_NAN"),
)


def run(subject: Subject) -> Outcome:
    """Size, finiteness, repeatability and graph of the loss on two inputs."""
    loss = policy_loss(subject)
    for values in (on_policy(subject, CHECK.id), off_policy(subject, CHECK.id)):
        arguments = loss.arguments(values)
        result = loss.function(**arguments)
        if result.size != 1:
            return failed(
                "loss", f"The loss is {result.size} numbers, not one.", expected="a scalar",
                got=f"shape {list(result.shape)}", example=arguments, fingerprint="not reduced",
                fix="Reduce over tokens and over rows before returning.",
            )  # fmt: skip
        if not np.isfinite(result).all():
            return failed("loss", "The loss of a valid batch is not finite.", expected="a finite number",
                          got=shown(result), example=arguments)  # fmt: skip
        again = loss.function(**arguments)
        if not np.array_equal(result, again):
            return failed("loss", "Two calls with the same input differ.", expected=shown(result), got=shown(again),
                          example=arguments, fingerprint="random or stateful")  # fmt: skip
    if loss.slopes.tensor and not loss.slopes.autograd:
        return failed("loss", "The loss has no graph that leads to the log-probs: nothing would be trained.",
                      expected="a tensor that requires grad", got="a constant", example=arguments,
                      fingerprint="detached")  # fmt: skip
    return passed()
