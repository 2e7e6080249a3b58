"""The reference is an object of its own: not the policy itself, and nothing of it is updated by the optimizer."""

from rlprobe.verifier.measure.weights import held, policy, reference
from rlprobe.verifier.outcome import Check, Outcome, failed, passed
from rlprobe.verifier.subject import Subject

CHECK = Check(
    id="V601",
    title="the reference is separate and not optimised",
    formula="reference is not policy;  parameters(reference) ∩ optimizer = ∅",
    stage="reference",
    category="reference drift",
    needs=("model", "ref_model"),
    fix="Make the reference by copy.deepcopy(model), freeze it, and give the optimizer the policy's parameters only.",
    causes=("REFERENCE_MOVING", "KL_BLOWUP"),
)


def run(subject: Subject) -> Outcome:
    """Identity of the objects, and membership of the reference's tensors in the optimizer."""
    model, other = policy(subject), reference(subject)
    if model is other:
        return failed(
            "ref_model",
            "The reference is the policy itself: the KL between them is 0 for ever.",
            expected="a copy",
            got="the same object",
            fingerprint="no copy was made",
        )
    updated = {id(parameter) for parameter in held(subject.pipeline.optimizer)}
    own = {id(parameter) for parameter in model.parameters()}
    names = [name for name, p in other.named_parameters() if id(p) in updated and id(p) not in own]
    if names:
        return failed(
            "optimizer",
            f"The optimizer updates {len(names)} tensors of the reference, {names[0]} among them.",
            expected="none",
            got=", ".join(names[:4]),
        )
    frozen = not any(parameter.requires_grad for parameter in other.parameters())
    return passed("frozen" if frozen else "its parameters require gradients, and nothing updates them")
