"""Which advantage estimator the user's function is: baseline, scale and epsilon, fitted to what it returns."""

from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np

from rlprobe.recording.run import FloatArray
from rlprobe.verifier import inputs
from rlprobe.verifier.grouping import TOKENS, Advantages
from rlprobe.verifier.oracles.advantages import centred, spread
from rlprobe.verifier.subject import Subject, Unavailable

Baseline = Literal["none", "group", "leave_one_out", "batch", "median"]
Scaling = Literal["none", "group", "batch", "batch_of_centred"]
BASELINES: tuple[Baseline, ...] = ("none", "group", "leave_one_out", "batch", "median")
SCALINGS: tuple[Scaling, ...] = ("none", "group", "batch", "batch_of_centred")
TOLERANCE = 1e-4  # relative; code that turns lists into float32 is off by 1e-6, no mistake is that small
LARGEST_EPSILON = 0.02  # of a reward's unit; published code has 1e-8 to 1e-2, the planted bugs begin at 0.1
GROUPS = 5  # more than any usual group size of a trial is not needed, and never equal to it
SCALES = (1.0, 4.0, 0.25)  # of the rewards, so that an epsilon can be told from a spread

# Estimators that are published or in a trainer: what the baseline may be divided by.
KNOWN: frozenset[tuple[Baseline, Scaling]] = frozenset(
    {
        ("none", "none"),
        ("group", "none"),
        ("group", "group"),
        ("group", "batch"),
        ("group", "batch_of_centred"),
        ("leave_one_out", "none"),
        ("leave_one_out", "group"),
        ("leave_one_out", "batch"),
        ("leave_one_out", "batch_of_centred"),
        ("batch", "none"),
        ("batch", "batch"),
    }
)
_WORDS = {
    "none": "nothing",
    "group": "the group's mean",
    "leave_one_out": "the mean of the group's other samples",
    "batch": "the batch's mean",
    "median": "the group's median",
}
_BY = {
    "none": "",
    "group": ", divided by the group's standard deviation",
    "batch": ", divided by the batch's standard deviation",
    "batch_of_centred": ", divided by the standard deviation of the batch's centred rewards",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimator:
    """The estimator that gives nearly the numbers of the user's function.

    Attributes:
        baseline, scaling: what is subtracted, what it is divided by.
        ddof: 0 or 1 of the standard deviation, a fraction where it counts tokens; 0 where nothing divides.
        epsilon: what is added to the standard deviation, in units of the reward.
        in_variance: whether epsilon is added to the variance instead.
        residual: largest difference to the function, relative to its largest advantage.
    """

    baseline: Baseline
    scaling: Scaling
    ddof: float
    epsilon: float
    in_variance: bool
    residual: float

    @property
    def fits(self) -> bool:
        """Whether the function is this estimator."""
        return self.residual < TOLERANCE

    @property
    def told(self) -> str:
        """In words: "reward minus the group's mean, divided by ... (ddof 1, epsilon 0.0001)"."""
        ddof = f"{self.ddof:g}" if self.ddof in (0, 1) else "1 over tokens"
        detail = f" (ddof {ddof}, epsilon {abs(self.epsilon):.1g})" if self.scaling != "none" else ""
        return f"reward minus {_WORDS[self.baseline]}{_BY[self.scaling]}{detail}"

    def values(self, rewards: FloatArray, group_size: int) -> FloatArray:
        """Advantages [N] by this estimator."""
        numerator = centred(rewards, group_size, self.baseline)
        divisor = spread(rewards, group_size, self.scaling, self.ddof)
        whole = np.sqrt(divisor**2 + self.epsilon) if self.in_variance else divisor + self.epsilon
        return np.asarray(numerator / whole)


def steady(subject: Subject) -> Advantages:
    """The advantage function, if it answers the same twice.

    Raises:
        Unavailable: it is missing, or it keeps a state of its own (a running mean), so that calls cannot be compared.
        RaisedError: it raises on valid rewards.
    """
    advantages = subject.advantages()

    def settled() -> bool:
        first = sample(subject, "steady", advantages)
        before = advantages(first)
        advantages(first * 2.0 + 1.0)
        return bool(np.allclose(before, advantages(first), rtol=TOLERANCE, atol=1e-9, equal_nan=True))

    if not subject.remember("advantages.steady", settled):
        raise Unavailable("the advantages depend on earlier calls (a running mean?), so two calls cannot be compared")
    return advantages


def sample(subject: Subject, name: str, advantages: Advantages, groups: int = 0) -> FloatArray:
    """Varied rewards [groups * group_size] from 0 to 1; the number of groups is not the group size."""
    count = groups or (GROUPS if advantages.group_size != GROUPS else GROUPS + 1)
    drawn = inputs.rewards(subject.rng(name), count, advantages.group_size)
    return np.asarray((drawn - drawn.min()) / np.ptp(drawn))


def estimator(subject: Subject) -> Estimator:
    """The nearest estimator; see `fits`.

    Raises:
        Unavailable, RaisedError: as for `steady`.
    """
    advantages = steady(subject)
    found = subject.remember("advantages.estimator", lambda: _nearest(subject, advantages))
    assert isinstance(found, Estimator)
    return found


def is_centred(subject: Subject, advantages: Advantages) -> bool:
    """Whether a constant added to every reward changes nothing: some baseline is subtracted."""

    def told() -> bool:
        rewards = sample(subject, "centred", advantages)
        return relative(advantages(rewards + 0.5), advantages(rewards)) < 1e-3

    return bool(subject.remember("advantages.is_centred", told))


def knows_groups(advantages: Advantages) -> bool:
    """Whether the function is told which samples belong together."""
    return advantages.layout == "matrix" or any(advantages.function.takes(role) for role in ("group_size", "group_ids"))


def is_grouped(subject: Subject, advantages: Advantages) -> bool:
    """Whether a baseline of the group is declared, or measured: the mean of each group is zero."""
    if subject.declared.text("baseline") in ("group", "leave_one_out"):
        return True
    rewards = sample(subject, "grouped", advantages)
    found = advantages(rewards)
    means = found.reshape(-1, advantages.group_size).mean(axis=1)
    return bool(np.abs(means).max() < 1e-3 * max(float(np.abs(found).max()), 1e-12))


def on_last_tokens(rewards: FloatArray, lengths: list[int], width: int) -> dict[str, object]:
    """Outcome rewards as token-level ones: each on the last valid token of its completion.

    Args:
        rewards: (samples,).
        lengths: (samples,) tokens of each completion, 1 to `width`.
        width: tokens of the batch, padding included.

    Returns:
        `rewards` of (samples, width), and the `mask` of valid tokens.
    """
    token_level = np.zeros((len(rewards), width))
    token_level[np.arange(len(rewards)), np.array(lengths) - 1] = rewards
    return {"rewards": token_level, "mask": inputs.mask(lengths, width)}


def relative(found: FloatArray, expected: FloatArray) -> float:
    """Largest difference, relative to the largest expected number; infinite where one of them is not finite."""
    if not (np.isfinite(found).all() and np.isfinite(expected).all()):
        return float("inf")
    return float(np.abs(found - expected).max() / max(float(np.abs(expected).max()), 1e-12))


def _nearest(subject: Subject, advantages: Advantages) -> Estimator:
    base = sample(subject, "estimator", advantages)
    rewards = [scale * base + 0.1 for scale in SCALES]
    given = np.concatenate([advantages(one) for one in rewards])
    best: Estimator | None = None
    for baseline in BASELINES:
        numerator = np.concatenate([centred(one, advantages.group_size, baseline) for one in rewards])
        for scaling in SCALINGS:
            ddofs = _ddofs(advantages, scaling)
            for ddof, in_variance in product(ddofs, (False, True)) if scaling != "none" else ((0.0, False),):
                divisor = np.concatenate([spread(one, advantages.group_size, scaling, ddof) for one in rewards])
                epsilon = _epsilon(numerator, divisor, given, in_variance=in_variance) if scaling != "none" else 0.0
                whole = np.sqrt(divisor**2 + epsilon) if in_variance else divisor + epsilon
                residual = relative(given, numerator / whole)
                if best is None or residual < best.residual - 1e-9:
                    best = Estimator(
                        baseline=baseline, scaling=scaling, ddof=ddof, epsilon=epsilon,
                        in_variance=in_variance, residual=residual,
                    )  # fmt: skip
    assert best is not None  # the tables are not empty
    return best


def _ddofs(advantages: Advantages, scaling: Scaling) -> tuple[float, ...]:
    """0 and 1; over the tokens of a batch, each sample stands TOKENS times: SS T / (N T - 1) is SS / (N - 1 / T)."""
    over_tokens = advantages.layout == "tokens" and scaling in ("batch", "batch_of_centred")
    return (0.0, 1.0, 1.0 / TOKENS) if over_tokens else (0.0, 1.0)


def _epsilon(numerator: FloatArray, divisor: FloatArray, given: FloatArray, *, in_variance: bool) -> float:
    """The epsilon that fits best: least squares of advantage * (spread + epsilon) = centred reward, or of squares."""
    if not np.isfinite(given).all() or not np.any(given):
        return 0.0
    if in_variance:
        weight = given**2
        found = float((weight * (numerator**2 - weight * divisor**2)).sum() / (weight**2).sum())
        return found if np.all(divisor**2 + found > 0) else 0.0
    found = float((given * (numerator - given * divisor)).sum() / (given**2).sum())
    return found if np.all(divisor + found > 0) else 0.0
