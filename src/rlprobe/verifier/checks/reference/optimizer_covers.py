"""The optimizer holds every tensor that gets a gradient from the scores, and no copies of them."""

from rlprobe.verifier.measure.scoring import scorer
from rlprobe.verifier.measure.weights import held, policy, trainable
from rlprobe.verifier.outcome import Check, Outcome, failed, not_checkable, passed
from rlprobe.verifier.subject import Subject

CHECK = Check(
    id="V617",
    title="the optimizer holds every trained tensor",
    formula="{w : ∂score/∂w ≠ 0} ⊆ optimizer",
    stage="reference",
    category="gradient breakage",
    needs=("model", "optimizer"),
    fix="Build the optimizer from the parameters of the model that is trained, after adapters were added.",
    causes=("NO_WEIGHT_UPDATE", "NO_LEARNING"),
)


def run(subject: Subject) -> Outcome:
    """Identity of the tensors, for those that have a gradient; others (a value head) may be left out."""
    import torch

    own = {id(parameter) for parameter in held(subject.pipeline.optimizer)}
    if not own:
        return not_checkable("the optimizer has no parameter groups")
    named = trainable(policy(subject))
    score = scorer(subject)
    with torch.enable_grad():
        answer = score.function.raw(**score.arguments(score.ids(subject.rng(CHECK.id))))
        if not isinstance(answer, torch.Tensor) or not answer.requires_grad or not named:
            return not_checkable("the scores have no gradient")
        slopes = torch.autograd.grad(answer.sum(), list(named.values()), allow_unused=True)
    used = [name for name, slope in zip(named, slopes, strict=True) if slope is not None]
    left_out = [name for name in used if id(named[name]) not in own]
    if left_out:
        return failed(
            "optimizer",
            f"{len(left_out)} of {len(used)} tensors with a gradient are not in the optimizer: {left_out[0]} for one.",
            expected="all of them",
            got=", ".join(left_out[:4]),
            fingerprint="built from another model" if len(left_out) == len(used) else "",
        )
    return passed(f"{len(used)} tensors")
