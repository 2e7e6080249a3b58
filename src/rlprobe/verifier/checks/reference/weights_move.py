"""A step with advantages that are not zero moves the policy."""

from rlprobe.verifier.measure.stepping import trace
from rlprobe.verifier.outcome import Check, Outcome, failed, passed
from rlprobe.verifier.subject import Subject

CHECK = Check(
    id="V613",
    title="a training step moves the weights",
    formula="w after a step ≠ w before, where A ≠ 0",
    stage="reference",
    category="gradient breakage",
    needs=("model", "train_step"),
    fix="Call backward, then optimizer.step() with the policy's own parameters and a learning rate above 0.",
    causes=("NO_WEIGHT_UPDATE", "ZERO_GRADIENT", "NO_LEARNING"),
)


def run(subject: Subject) -> Outcome:
    """Every tensor of the policy, bit for bit, before and after one step."""
    seen = trace(subject)
    if not seen.changed:
        return failed(
            "train_step",
            f"After a step all {len(seen.before)} tensors of the policy are what they were.",
            expected="tensors that change",
            got="none",
        )
    return passed(f"{len(seen.changed)} of {len(seen.before)} tensors move")
