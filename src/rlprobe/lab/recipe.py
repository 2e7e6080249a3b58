"""A recipe says how a run trains; its seams are the places where a pipeline can be wired wrongly.

A healthy recipe has healthy seams. A fault is a recipe with other settings, or with one seam that does what a real bug
does there: nothing downstream knows of it.
"""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from rlprobe.lab import optimizer, rewards, tasks, vocabulary
from rlprobe.lab.advantages import Scaling
from rlprobe.lab.losses import Coefficients, Estimator
from rlprobe.lab.policy import BoolArray, FloatArray, Generator, Weights
from rlprobe.lab.rewards import Part
from rlprobe.lab.sampler import Sampling
from rlprobe.lab.tasks import Task
from rlprobe.lab.vocabulary import IntArray

Algorithm = Literal["grpo", "dr_grpo", "rloo", "reinforce", "ppo", "dpo"]
LossScale = Literal["token", "sequence", "constant"]


@dataclass(slots=True)
class State:
    """Where a run stands, for seams that depend on it.

    Attributes:
        step, steps: this step (from 1) and the planned number.
        policy, start: the weights now and before the first update.
        past: weights after each of the latest steps, oldest first.
        rng: random numbers of the seams alone, so that a fault does not disturb the run's own.
        held: arrays that the process keeps alive beyond their step.
        notes: numbers that a seam remembers from step to step.
        carried: a gradient that a seam remembers; empty at first.
    """

    step: int
    steps: int
    policy: Weights
    start: Weights
    rng: Generator
    past: deque[Weights] = field(default_factory=lambda: deque(maxlen=64))
    held: list[FloatArray] = field(default_factory=list)
    notes: dict[str, float] = field(default_factory=dict)
    carried: Weights = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seams:
    """The joints of the pipeline, in the order in which a step passes them.

    Attributes:
        lag: updates by which the sampler's weights are behind.
        sampling: the sampling settings really used.
        tool_works: (calls,) whether each tool call succeeds.
        decoded: the texts that the loop makes of the tokens.
        handed: the texts that the reward functions receive.
        returned: the (functions, batch) rewards that arrive at the trainer.
        grouping: the (batch,) group ids that the advantage uses.
        reference: the weights of the reference this step, given those of the step before.
        reference_view: the (n, slots) features that the reference sees, given the policy's and each token's place.
        credited: the (batch,) advantages that the loss uses.
        trained: (batch, longest) which tokens the loss sees.
        gradient: the gradient that reaches the optimizer.
        applied: the weights that the next step uses, given those before and after the update.
        restored: the weights that a resumed process begins with.
        overhead: modelled seconds of extra work in the step.
        straggler: how many times slower the slowest rank is.
        logged: the row that reaches the log.
    """

    lag: Callable[[State], int] = lambda state: 0
    sampling: Callable[[Sampling, State], Sampling] = lambda sampling, state: sampling
    tool_works: Callable[[int, State], BoolArray] = lambda calls, state: state.rng.random(calls) < 0.95
    decoded: Callable[[tuple[str, ...], State], tuple[str, ...]] = lambda texts, state: texts
    handed: Callable[[tuple[str, ...], State], tuple[str, ...]] = lambda texts, state: texts
    returned: Callable[[FloatArray, State], FloatArray] = lambda rewards, state: rewards
    grouping: Callable[[IntArray, State], IntArray] = lambda groups, state: groups
    reference: Callable[[Weights, State], Weights] = lambda reference, state: reference
    reference_view: Callable[[IntArray, IntArray], IntArray] = lambda rows, place: rows
    credited: Callable[[FloatArray, FloatArray, State], FloatArray] = lambda advantages, rewards, state: advantages
    trained: Callable[[BoolArray, BoolArray, State], BoolArray] = lambda mask, ended, state: mask
    gradient: Callable[[Weights, State], Weights] = lambda gradient, state: gradient
    applied: Callable[[Weights, Weights, State], Weights] = lambda before, after, state: after
    restored: Callable[[State], Weights] = lambda state: state.policy
    overhead: Callable[[State], float] = lambda state: 0.0
    straggler: Callable[[State], float] = lambda state: 1.0
    logged: Callable[[Mapping[str, float], State], Mapping[str, float]] = lambda row, state: row


def _parts() -> tuple[Part, ...]:
    return (
        Part(name="correct", function=rewards.correct),
        Part(name="format", function=rewards.formatted, weight=0.2),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """Everything that decides a run, apart from its seed and length.

    Attributes:
        later_task: the task that follows the first, of which it may be a harder sort; None keeps the first.
        later_share: fraction of a step's prompts that come from the later task, at (step, steps).
        hidden, lessons: size of the network and supervised updates of the base policy.
        schedule: factor of the learning rate at (step, steps).
        passes, minibatches: passes over a rollout, and updates in a pass.
        skip_nonfinite: whether an update with a gradient that is not finite is left out.
        old_from_sampler: whether the old log-probs are the sampler's instead of being recomputed.
        kl_in_reward: whether the KL penalty is taken from the reward instead of added to the loss.
        dropout: chance that a unit of the first layer is dropped in the update's forward pass.
        asynchronous: whether samples are known to lag, so that staleness is logged.
        resume: fraction of the run at which the process is stopped and started again; 0 never.
        keep_optimizer: whether a resumed process has the optimizer's moments.
        log_truth: whether accuracy is also logged as the true score that the reward stands for.
        ranks: data-parallel workers whose time is modelled; 1 logs none.
    """

    algorithm: Algorithm = "grpo"
    task: Task = field(default_factory=Task)
    later_task: Task | None = None
    later_share: Callable[[int, int], float] = tasks.second_half
    parts: tuple[Part, ...] = field(default_factory=_parts)
    prompts: int = 8
    group_size: int = 8
    sampling: Sampling = field(default_factory=Sampling)
    hidden: int = 64
    lessons: int = 400
    learning_rate: float = 2e-3
    schedule: Callable[[int, int], float] = optimizer.warm_up
    coefficients: Coefficients = field(default_factory=lambda: Coefficients(kl=0.02))
    passes: int = 1
    minibatches: int = 1
    loss_scale: LossScale = "token"
    scaling: Scaling = "group"
    max_grad_norm: float = 1.0
    skip_nonfinite: bool = False
    old_from_sampler: bool = False
    kl_in_reward: bool = False
    dropout: float = 0.0
    value_rate: float = 5e-3
    trace: float = 0.95
    beta: float = 0.5
    asynchronous: bool = False
    evaluate_every: int = 10
    logging_steps: int = 1
    resume: float = 0.0
    keep_optimizer: bool = True
    log_truth: bool = False
    ranks: int = 1
    seams: Seams = field(default_factory=Seams)

    @property
    def kl_estimator(self) -> Estimator:
        """The estimator of the KL that the loop logs: a penalty in the reward needs the plain difference."""
        return "k1" if self.kl_in_reward or self.old_from_sampler else self.coefficients.estimator

    def settings(self, *, steps: int, seed: int) -> Mapping[str, object]:
        """The settings under their canonical names, as a training loop would state them."""
        return {
            "learning_rate": self.learning_rate,
            "kl_coefficient": self.beta if self.algorithm == "dpo" else self.coefficients.kl,
            "entropy_coefficient": self.coefficients.entropy,
            "group_size": self.group_size,
            "batch_prompts": self.prompts,
            "updates_per_rollout": self.passes,
            "clip_low": self.coefficients.clip_low,
            "clip_high": self.coefficients.clip_high,
            "loss_type": self.loss_scale,
            "advantage_scaling": self.scaling,
            "max_completion_tokens": self.sampling.cap,
            "temperature": self.sampling.temperature,
            "top_k": self.sampling.top_k,
            "max_grad_norm": self.max_grad_norm,
            "dtype": "float64",
            "vocabulary_size": vocabulary.SIZE,
            "logging_steps": self.logging_steps,
            "max_steps": steps,
            "seed": seed,
        } | ({"value_learning_rate": self.value_rate} if self.algorithm == "ppo" else {})
