"""Old log-probs, reference log-probs and advantages are constants of the loss: no gradient flows into them."""

from rlprobe.verifier.measure.stepping import trace
from rlprobe.verifier.outcome import Check, Outcome, failed, passed
from rlprobe.verifier.subject import Subject

CHECK = Check(
    id="V605",
    title="old, reference and advantages carry no graph",
    formula="∂loss / ∂(old, reference, A) is not taken",
    stage="reference",
    category="gradient breakage",
    needs=("model", "train_step"),
    fix="Compute them under torch.no_grad(), or detach them before the loss.",
    causes=("GRAD_PATHOLOGY", "KL_BLOWUP"),
)
CONSTANTS = ("old_logprobs", "ref_logprobs", "advantages", "importance_ratio")


def run(subject: Subject) -> Outcome:
    """What the loss is given in a real step, and the gradients that the reference holds after it."""
    seen = trace(subject)
    for number, call in enumerate(seen.losses):
        graph = [role for role in CONSTANTS if getattr(call.get(role), "requires_grad", False)]
        if graph:
            return failed(
                "train_step",
                f"In inner step {number + 1}, the loss is given {' and '.join(graph)} with a graph.",
                expected="no graph",
                got="requires_grad",
                fingerprint="computed outside no_grad",
            )
    if seen.reference_gradients:
        return failed(
            "train_step",
            f"After a step, {len(seen.reference_gradients)} tensors of the reference hold a gradient.",
            expected="none",
            got=", ".join(seen.reference_gradients[:4]),
        )
    return passed("" if seen.losses else "the loss could not be overheard; the reference holds no gradient")
