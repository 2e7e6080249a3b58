"""A step makes completions with a positive advantage more likely and those with a negative one less likely."""

from dataclasses import replace
from typing import TYPE_CHECKING

from rlprobe.verifier.measure.scoring import Scorer, scorer
from rlprobe.verifier.measure.stepping import Batch, batch, step, trace
from rlprobe.verifier.measure.weights import trainable
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, not_checkable, passed
from rlprobe.verifier.subject import Subject

if TYPE_CHECKING:
    import torch

CHECK = Check(
    id="V614",
    title="a step follows the advantages",
    formula="Δ log p(y) has the sign of A(y)",
    stage="reference",
    category="log-space signs",
    needs=("model", "train_step"),
    fix="Minimise minus ratio times advantage, row by row, and let its gradient reach the model.",
    causes=("NO_LEARNING", "REWARD_COLLAPSE", "LIKELIHOOD_DISPLACEMENT"),
)


def run(subject: Subject) -> Outcome:
    """The step with the advantages and with their opposite, from the same weights: the difference is theirs alone."""
    if not subject.takes("train_step", "advantages"):
        return not_applicable("train_step takes no advantages")
    given = batch(subject)
    one = trace(subject)
    other = step(subject, replace(given, advantages=-given.advantages))
    score = scorer(subject)
    slopes = _slopes(score, given)
    if not slopes:
        return not_checkable("the scores have no gradient")
    along, size = 0.0, 0.0
    for name, slope in slopes.items():
        apart = (one.after[name] - other.after[name]).double()
        along += float((apart * slope.double()).sum())
        size += float(apart.abs().sum())
    if size == 0.0:
        return failed(
            "train_step",
            "A step with opposite advantages makes the same change.",
            expected="a change that hangs on the advantages",
            got="the same weights",
            example={"ids": given.ids, "advantages": given.advantages},
            fingerprint="the policy term has no gradient",
        )
    if along <= 0.0:
        return failed(
            "train_step",
            "A step makes completions with a negative advantage more likely, against those with a positive one.",
            expected="a rise of the advantage-weighted log-probs",
            got="a fall",
            example={"ids": given.ids, "advantages": given.advantages},
            fingerprint="the step goes uphill, or advantages stand in other rows",
        )
    return passed()


def _slopes(score: Scorer, given: Batch) -> "dict[str, torch.Tensor]":
    """Gradient of the advantage-weighted log-probs of valid tokens, by name of the tensor."""
    import torch

    named = trainable(score.model)
    with torch.enable_grad():
        answer = score.function.raw(**score.arguments(given.ids, given.mask))
        if not isinstance(answer, torch.Tensor) or not answer.requires_grad:
            return {}
        seen = torch.from_numpy(given.mask.copy())
        if answer.shape[1] == given.ids.shape[1]:
            seen = seen.clone()
            seen[:, 0] = False
        else:
            seen = seen[:, 1:] & seen[:, :-1]
        weights = torch.from_numpy(given.advantages)[:, None] * seen
        total = (answer * weights.to(answer)).sum()
        slopes = torch.autograd.grad(total, list(named.values()), allow_unused=True)
    return {name: slope for name, slope in zip(named, slopes, strict=True) if slope is not None}
