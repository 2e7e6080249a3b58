"""A gradient reaches the model through the scores: the policy can be trained by them."""

from rlprobe.verifier.measure.scoring import quiet, scorer
from rlprobe.verifier.outcome import Check, Outcome, failed, not_checkable, passed
from rlprobe.verifier.subject import Subject

CHECK = Check(
    id="V620",
    title="scores carry a gradient to the model",
    formula="∂score / ∂w exists and is not 0",
    stage="reference",
    category="gradient breakage",
    needs=("model",),
    fix="Score the policy outside no_grad and inference_mode, and keep item, numpy and detach off the way.",
    causes=("ZERO_GRADIENT", "NO_LEARNING", "NO_WEIGHT_UPDATE"),
)


def run(subject: Subject) -> Outcome:
    """One scored batch with gradients on."""
    import torch

    score = scorer(subject)
    if not any(parameter.requires_grad for parameter in score.model.parameters()):
        return not_checkable("no parameter of the model requires a gradient")
    ids = score.ids(subject.rng(CHECK.id))
    with quiet(score.model), torch.enable_grad():
        answer = score.function.raw(**score.arguments(ids))
    if not isinstance(answer, torch.Tensor) or not answer.requires_grad:
        return failed(
            "score",
            "Scores of the policy have no graph.",
            expected="a tensor that requires grad",
            got=type(answer).__name__,
            example={"ids": ids},
            fingerprint="detached",
        )
    return passed()
