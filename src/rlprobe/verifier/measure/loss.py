"""The policy loss as numbers: its value, its slope, and its policy term apart from KL and entropy.

The policy term is linear in the advantages, the others do not know them: slope(A) - slope(0) is the policy's alone.
"""

from dataclasses import dataclass, replace

import numpy as np

from rlprobe.recording.run import FloatArray
from rlprobe.verifier.arrays import Values
from rlprobe.verifier.function import Function
from rlprobe.verifier.inputs import LossInput, loss_input
from rlprobe.verifier.measure.slopes import Slopes, slopes_of, without_graph
from rlprobe.verifier.subject import Subject, Unavailable, scalar
from rlprobe.verifier.trials import beside

LONGEST = 16  # tokens; the constant length that is handed to losses that ask for one and got none
SAME_LAW = 0.02  # relative; a weight of 1 + log-prob differs from a constant by a factor of its own
KL_COEFFICIENT = 0.1  # handed to losses that take one, where the KL term itself is under test


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyLoss:
    """A policy loss ready to be measured.

    Attributes:
        function: the user's function with its form of arrays.
        slopes: how its derivatives are taken and how exact they are.
        tool_mark: what stands in a mask of tools where a token counts: true, or false where it marks the tools.
    """

    function: Function
    slopes: Slopes
    tool_mark: bool = True

    @property
    def tolerance(self) -> float:
        """Relative error that rounding alone gives a slope."""
        return self.slopes.tolerance

    def takes(self, role: str) -> bool:
        """Whether the loss has a parameter for the role."""
        return self.function.takes(role)

    def arguments(self, values: Values) -> dict[str, object]:
        """The arguments completed by neutral ones, and only those that the loss takes."""
        shape = np.asarray(values["logprobs"]).shape
        neutral: dict[str, object] = {"importance_ratio": np.ones(shape), "entropy": np.ones(shape)}
        neutral |= {role: value for role, value in beside(shape).items() if not isinstance(value, float)}
        neutral["tool_mask"] = np.full(shape, self.tool_mark)
        if "old_logprobs" in values:
            neutral["sampler_logprobs"] = values["old_logprobs"]
        neutral["normalizer"] = int(np.asarray(values["mask"]).sum())
        if "max_completion_tokens" not in self.function.binding.constants:
            neutral["max_completion_tokens"] = LONGEST
        return {role: value for role, value in {**neutral, **values}.items() if self.takes(role)}

    def value(self, values: Values) -> float:
        """The loss."""
        return scalar(self.function(**self.arguments(values)))

    def slope(self, values: Values, wrt: str = "logprobs") -> FloatArray:
        """Derivative of the loss by an argument, of that argument's shape."""
        return self.slopes.slope(self.function, wrt, self.arguments(values))

    def penalty_slope(self, values: Values) -> FloatArray:
        """Slope of everything but the policy term, [B,T]."""
        return self.slope({**values, "advantages": np.zeros_like(np.asarray(values["advantages"]))})

    def policy_slope(self, values: Values) -> FloatArray:
        """Slope of the policy term alone, [B,T]."""
        return self.slope(values) - self.penalty_slope(values)

    def weights(self, values: Values) -> FloatArray:
        """-slope / advantage of the policy term, [B,T]: the push on each token's log-prob per unit of advantage."""
        advantages = np.asarray(values["advantages"], dtype=np.float64)
        return -self.policy_slope(values) / (advantages if advantages.ndim == 2 else advantages[:, None])

    def close(self, left: FloatArray, right: FloatArray, *, slack: float = 1.0) -> bool:
        """Whether two slopes differ by rounding only."""
        return self.slopes.close(left, right, slack=slack)


def policy_loss(subject: Subject) -> PolicyLoss:
    """The policy loss of the pipeline.

    Raises:
        Unavailable: there is none, or it normalises the advantages itself.
        RaisedError: it raised on a small valid input.
    """
    found = subject.remember("loss", lambda: _measured(subject))
    if isinstance(found, Unavailable):
        raise found
    assert isinstance(found, PolicyLoss)
    return found


def on_policy(subject: Subject, name: str, lengths: tuple[int, ...] = (6, 3, 5, 2)) -> dict[str, object]:
    """Arguments with old and reference equal to the policy; four rows of six tokens, both signs of advantage."""
    return loss_input(subject.rng(name), lengths=_lengths(subject, lengths), on_policy=True).values()


def off_policy(subject: Subject, name: str, lengths: tuple[int, ...] = (6, 3, 5, 2)) -> dict[str, object]:
    """Arguments whose ratios lie on the side that no clip touches, and whose reference differs by up to 0.3 nats."""
    rng = subject.rng(name)
    base = loss_input(rng, lengths=_lengths(subject, lengths), on_policy=True)
    towards_harm = -np.sign(base.advantages)[:, None]
    return harmed(base, towards_harm * rng.uniform(0.05, 0.3, size=base.logprobs.shape), rng).values()


def harmed(base: LossInput, drift: FloatArray, rng: np.random.Generator) -> LossInput:
    """The input with log-ratios `drift` [B,T] and a reference up to 0.3 nats away."""
    return LossInput(
        logprobs=base.logprobs,
        old_logprobs=base.logprobs - drift,
        ref_logprobs=base.logprobs - rng.uniform(-0.3, 0.3, size=base.logprobs.shape),
        advantages=base.advantages,
        mask=base.mask,
    )


def unmasked(subject: Subject) -> bool:
    """Whether the loss takes no mask: every token counts, and nothing can be said of padding."""
    return not subject.takes("loss", "mask")


def _lengths(subject: Subject, lengths: tuple[int, ...]) -> tuple[int, ...]:
    return (max(lengths),) * len(lengths) if unmasked(subject) else lengths


def _measured(subject: Subject) -> PolicyLoss | Unavailable:
    function = subject.function("loss")
    values = on_policy(subject, "loss")
    bare = PolicyLoss(function=function, slopes=Slopes(tolerance=0.0, step=1.0, single=False))
    complete = bare.arguments(values)
    function = without_graph(function, "logprobs", complete)
    loss = PolicyLoss(function=function, slopes=slopes_of(function, "logprobs", complete))
    if loss.takes("tool_mask") and not loss.slope(values).any():  # all ones: no token counts
        loss = replace(loss, tool_mark=False)
    subject.measured["loss gradients"] = "autograd" if loss.slopes.autograd else "central differences"
    if _normalises(loss, values):
        subject.measured["advantages inside the loss"] = "normalised"
        return Unavailable("the loss normalises advantages itself: hand over the part behind that", ("loss",))
    if not loss.slopes.tensor and _stops_gradient(loss, values):
        return Unavailable("its stop-gradient cannot be seen without autograd: hand over the torch version", ("loss",))
    return loss


def _stops_gradient(loss: PolicyLoss, values: dict[str, object]) -> bool:
    """Whether the differences are those of ratio * A * log-prob, whose ratio is meant to get no gradient (CISPO)."""
    factor = 1.0 + np.asarray(values["logprobs"])
    mask = np.asarray(values["mask"], dtype=bool)
    shares = np.where(mask, loss.weights(values), 0.0)
    scale = (shares * factor).sum(axis=1, keepdims=True) / (mask * factor**2).sum(axis=1, keepdims=True)
    size = float(np.abs(shares).max())
    return size > loss.slopes.floor and float(np.abs(shares - mask * scale * factor).max()) <= SAME_LAW * size


def _normalises(loss: PolicyLoss, values: dict[str, object]) -> bool:
    """Whether neither shifting nor scaling the advantages moves the slope, while turning them round does."""
    advantages = np.asarray(values["advantages"])
    plain = loss.slope(values)
    slack = 1e3  # an epsilon in the deviation
    moved = [loss.slope({**values, "advantages": other}) for other in (3.0 * advantages, advantages + 2.0)]
    turned = loss.slope({**values, "advantages": -advantages})
    same = all(loss.close(plain, other, slack=slack) for other in moved)
    return same and not loss.close(plain, turned, slack=slack)
