"""A training step changes the policy and leaves every tensor of the reference as it was."""

from rlprobe.verifier.measure.stepping import trace
from rlprobe.verifier.measure.weights import policy, reference
from rlprobe.verifier.outcome import Check, Outcome, failed, not_checkable, passed
from rlprobe.verifier.subject import Subject

CHECK = Check(
    id="V603",
    title="a training step leaves the reference as it was",
    formula="reference after a step = reference before",
    stage="reference",
    category="reference drift",
    needs=("model", "ref_model", "train_step"),
    fix="Do not load, average or copy the policy into the reference, and keep its tensors out of the optimizer.",
    causes=("REFERENCE_MOVING",),
)


def run(subject: Subject) -> Outcome:
    """Every tensor of the reference, bit for bit, before and after one step."""
    if policy(subject) is reference(subject):
        return not_checkable("the reference is the policy itself: told at V601")
    moved = trace(subject).reference_moved
    if moved:
        return failed(
            "train_step",
            f"One training step changes {len(moved)} tensors of the reference, {moved[0]} among them.",
            expected="none",
            got=", ".join(moved[:4]),
        )
    return passed()
