"""Tensors that are frozen stay as they are over a training step."""

from rlprobe.verifier.measure.stepping import trace
from rlprobe.verifier.measure.weights import policy
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, passed
from rlprobe.verifier.subject import Subject

CHECK = Check(
    id="V616",
    title="frozen tensors do not move",
    formula="frozen w after a step = frozen w before",
    stage="reference",
    category="gradient breakage",
    needs=("model", "train_step"),
    fix="Give the optimizer the trainable parameters only, and write to no weight in place.",
    causes=("REFERENCE_MOVING", "KL_BLOWUP"),
)


def run(subject: Subject) -> Outcome:
    """Parameters without requires_grad, bit for bit, before and after one step."""
    frozen = {name for name, parameter in policy(subject).named_parameters() if not parameter.requires_grad}
    if not frozen:
        return not_applicable("no parameter is frozen")
    moved = [name for name in trace(subject).changed if name in frozen]
    if moved:
        return failed(
            "train_step",
            f"One step changes {len(moved)} frozen tensors, {moved[0]} among them.",
            expected="none",
            got=", ".join(moved[:4]),
        )
    return passed(f"{len(frozen)} tensors")
