"""No tensor of the reference lies in the memory of a tensor that the policy trains."""

from rlprobe.verifier.measure.weights import policy, reference, trainable
from rlprobe.verifier.outcome import Check, Outcome, failed, not_checkable, passed
from rlprobe.verifier.subject import Subject

CHECK = Check(
    id="V602",
    title="the reference shares no memory with trained tensors",
    formula="storage(reference) ∩ storage(trained) = ∅",
    stage="reference",
    category="reference drift",
    needs=("model", "ref_model"),
    fix="Copy what trains (copy.deepcopy, tied embeddings included); share only what is frozen in the policy as well.",
    causes=("REFERENCE_MOVING",),
)


def run(subject: Subject) -> Outcome:
    """Addresses of the storages of both."""
    model, other = policy(subject), reference(subject)
    if model is other:
        return not_checkable("the reference is the policy itself: told at V601")
    theirs = {p.untyped_storage().data_ptr(): name for name, p in trainable(model).items() if p.numel()}
    shared = [
        (name, theirs[value.untyped_storage().data_ptr()])
        for name, value in other.state_dict(keep_vars=True).items()
        if value.numel() and value.untyped_storage().data_ptr() in theirs
    ]
    if shared:
        return failed(
            "ref_model",
            f"{len(shared)} tensors of the reference lie in the memory of trained ones: {shared[0][0]} is the"
            f" policy's {shared[0][1]}.",
            expected="none",
            got=", ".join(name for name, _ in shared[:4]),
            fingerprint="a shallow copy, or a module that both hold",
        )
    return passed()
