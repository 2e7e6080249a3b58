"""Every trainable tensor on which the scores hang gets the gradient that a small change of it shows."""

from typing import TYPE_CHECKING

from rlprobe.verifier.measure.scoring import Scorer, scorer
from rlprobe.verifier.measure.weights import restored, trainable
from rlprobe.verifier.outcome import Check, Outcome, failed, not_checkable, passed
from rlprobe.verifier.subject import Subject

if TYPE_CHECKING:
    import torch

STEP = 1e-2  # of a direction of length 1
NOISE = 2e-2  # of a slope; float32 sums over a few dozen tokens, divided by twice the step, stay below it
MOST = 24  # tensors that are tried; the first and last of larger models
CHECK = Check(
    id="V609",
    title="every trained tensor gets its gradient",
    formula="∂score/∂w (autograd) = ∂score/∂w (small change), for every trained w",
    stage="reference",
    category="gradient breakage",
    needs=("model",),
    fix="Remove the detach, .data, no_grad or item on the way from this tensor to the scores.",
    causes=("ZERO_GRADIENT", "NO_LEARNING", "NO_WEIGHT_UPDATE"),
)


def run(subject: Subject) -> Outcome:
    """Autograd against a small change of each tensor along one random direction."""
    import torch

    score = scorer(subject)
    if score.coarse:
        return not_checkable("the model computes in less than float32: small changes drown in rounding")
    named = list(trainable(score.model).items())
    if not named:
        return not_checkable("no parameter of the model requires a gradient")
    chosen = named if len(named) <= MOST else named[: MOST // 2] + named[-MOST // 2 :]
    values = score.arguments(score.ids(subject.rng(CHECK.id)))
    with restored(score.model), torch.enable_grad():
        total = _total(score, values)
        if not total.requires_grad:
            return not_checkable("the scores have no graph: told at V620")
        slopes = torch.autograd.grad(total, [one for _, one in chosen], allow_unused=True)
        lost, wrong = [], []
        for (name, parameter), slope in zip(chosen, slopes, strict=True):
            direction = _direction(parameter, slope)
            expected = _difference(score, values, parameter, direction)
            found = 0.0 if slope is None else float((slope.double() * direction.double()).sum())
            if abs(expected) > NOISE and abs(found) < 0.02 * abs(expected):
                lost.append(name)
            elif abs(found - expected) > NOISE + 0.4 * max(abs(found), abs(expected)):
                wrong.append(name)
    if lost or wrong:
        names = lost or wrong
        return failed(
            "score",
            f"{len(names)} of {len(chosen)} trained tensors, {names[0]} among them, move the scores and get"
            f" {'no gradient' if lost else 'another gradient than a small change shows'}.",
            expected="the slope of a small change",
            got=", ".join(names[:4]),
            fingerprint="cut off from the graph" if lost else "part of its way to the scores is cut off",
        )
    return passed(f"{len(chosen)} tensors")


def _total(score: Scorer, values: dict[str, object]) -> "torch.Tensor":
    """A fixed weighted sum of the scores: a plain sum would hide tensors that only move probability around."""
    import torch

    torch.manual_seed(3)
    answer = score.function.raw(**values)
    assert isinstance(answer, torch.Tensor)
    weights = torch.linspace(0.5, 1.5, answer.numel(), dtype=torch.float64).reshape(answer.shape)
    return (answer.double() * weights).sum()


def _direction(parameter: "torch.Tensor", slope: "torch.Tensor | None") -> "torch.Tensor":
    import torch

    generator = torch.Generator().manual_seed(parameter.numel())
    direction = torch.randn(parameter.shape, generator=generator, dtype=torch.float32).to(parameter)
    if slope is not None and bool(slope.abs().max() > 0):
        direction = direction * 0.3 * slope.norm() / direction.norm() + slope
    return direction / direction.norm().clamp(min=1e-12)


def _difference(
    score: Scorer, values: dict[str, object], parameter: "torch.Tensor", direction: "torch.Tensor"
) -> float:
    import torch

    sides = []
    with torch.no_grad():
        kept = parameter.detach().clone()
        for sign in (1.0, -1.0):
            parameter.copy_(kept + sign * STEP * direction)
            sides.append(float(_total(score, values)))
        parameter.copy_(kept)
    return (sides[0] - sides[1]) / (2 * STEP)
