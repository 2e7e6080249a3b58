"""The rollout phase: draw prompts, write completions, run the reward functions, assign advantages."""

from dataclasses import dataclass, field

import numpy as np

from rlprobe.lab import advantages, policy, sampler
from rlprobe.lab.policy import BoolArray, FloatArray, Generator, Weights
from rlprobe.lab.recipe import Recipe, State
from rlprobe.lab.sampler import Completions
from rlprobe.lab.tasks import Prompts
from rlprobe.lab.vocabulary import FAILED, TOOL, IntArray, decode


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A batch of completions as text, and their rewards.

    Attributes:
        texts, handed: the completions as text, and the texts that the reward functions received.
        rewards: (functions, batch); totals: (batch,) weighted sum before any KL penalty.
        right: (batch,) whether the completion itself answers its prompt.
        tool_calls, tool_failures: in the whole batch.
    """

    texts: tuple[str, ...]
    handed: tuple[str, ...]
    rewards: FloatArray
    totals: FloatArray
    right: BoolArray
    tool_calls: int
    tool_failures: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    """One step's samples before any update; arrays over the batch, or over the n tokens that were written.

    Attributes:
        prompts, completions: what went in and what was written.
        groups: (batch,) true group of each sample; grouped: the one that the advantage used.
        judged: texts and rewards; penalised: (batch,) totals after any KL penalty.
        owner: (n,) sample of each token; place: (n,) its position.
        rows, tokens: (n, slots) features and (n,) tokens.
        old, reference, sampled: (n,) log-probs under the policy, the reference and the sampler; entropy: (n,) nats.
        advantages: (n,) as the loss uses them; credited: (batch,) their mean a sample.
        trained: (n,) whether the loss sees the token.
        returns, values: (n,) of the value head; empty where there is none.
        lag: updates by which the sampler was behind.
    """

    prompts: Prompts
    completions: Completions
    groups: IntArray
    grouped: IntArray
    judged: Judged
    penalised: FloatArray
    owner: IntArray
    place: IntArray
    rows: IntArray
    tokens: IntArray
    old: FloatArray
    reference: FloatArray
    sampled: FloatArray
    entropy: FloatArray
    advantages: FloatArray
    credited: FloatArray
    trained: BoolArray
    returns: FloatArray
    values: FloatArray
    lag: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """The weights that a rollout needs: policy, reference, and the value head's network (None where there is none)."""

    policy: Weights
    reference: Weights
    value: Weights | None
    baseline: float


def roll_out(recipe: Recipe, models: Models, prompts: Prompts, state: State, rng: Generator) -> Rollout:
    """One rollout of (prompts, group_size) samples.

    Args:
        prompts: the step's prompts, one a group.
        rng: the run's own random numbers.
    """
    seams = recipe.seams
    groups = np.repeat(np.arange(len(prompts)), recipe.group_size)
    asked = prompts.take(groups)
    completions, lag = _written(recipe, models.policy, asked, state, rng)
    judged = _judged(recipe, asked, completions, state)
    read = _read(recipe, models, asked, completions)
    grouped = seams.grouping(groups, state)
    divergence = read.now.logprobs - read.reference
    penalty = np.bincount(read.owner, divergence) * recipe.coefficients.kl if recipe.kl_in_reward else 0.0
    penalised = judged.totals - penalty
    given = _advantages(recipe, models, penalised, grouped, divergence, read.rows, completions.mask)
    credited = seams.credited(given.samples, judged.totals, state)
    own = credited if given.tokens is None else credited - given.samples
    sampled = completions.logprobs[completions.mask]
    return Rollout(
        prompts=asked,
        completions=completions,
        groups=groups,
        grouped=grouped,
        judged=judged,
        penalised=penalised,
        owner=read.owner,
        place=read.place,
        rows=read.rows,
        tokens=read.now.tokens,
        old=sampled if recipe.old_from_sampler else read.now.logprobs,
        reference=read.reference,
        sampled=sampled,
        entropy=read.now.entropy,
        advantages=own[read.owner] + (0.0 if given.tokens is None else given.tokens),
        credited=credited,
        trained=seams.trained(completions.mask, completions.ended, state)[completions.mask],
        returns=given.returns,
        values=given.values,
        lag=lag,
    )


def _written(
    recipe: Recipe, policy_now: Weights, asked: Prompts, state: State, rng: Generator
) -> tuple[Completions, int]:
    """What the sampler writes with the weights that it has, and by how many updates those are behind."""
    lag = recipe.seams.lag(state)
    behind = policy_now if lag <= 0 else state.past[-1 - lag] if lag < len(state.past) else state.start
    how = recipe.seams.sampling(recipe.sampling, state)
    return sampler.sample(behind, asked.tokens, rng, how, group_size=recipe.group_size), lag


def _judged(recipe: Recipe, asked: Prompts, completions: Completions, state: State) -> Judged:
    """The completions as text, and what the reward functions made of what they were handed."""
    transcripts, calls, failures = _transcripts(completions, recipe, state)
    texts = recipe.seams.decoded(transcripts, state)
    handed = recipe.seams.handed(texts, state)
    paid = [[part.function(a, t) for a, t in zip(asked.answers, handed, strict=True)] for part in recipe.parts]
    rewards = recipe.seams.returned(np.array(paid, dtype=np.float64), state)
    return Judged(
        texts=texts,
        handed=handed,
        rewards=rewards,
        totals=np.asarray([part.weight for part in recipe.parts]) @ rewards,
        right=np.array([f"<{a}>" in t for a, t in zip(asked.answers, texts, strict=True)]),
        tool_calls=calls,
        tool_failures=failures,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    """The written tokens under the policy and the reference."""

    owner: IntArray
    place: IntArray
    rows: IntArray
    now: policy.Scored
    reference: FloatArray


def _read(recipe: Recipe, models: Models, asked: Prompts, completions: Completions) -> _Read:
    mask = completions.mask
    owner, place = np.nonzero(mask)
    rows, tokens = policy.features(asked.tokens, completions.tokens)[mask], completions.tokens[mask]
    temperature = recipe.sampling.temperature
    seen = recipe.seams.reference_view(rows, place)
    return _Read(
        owner=owner,
        place=place,
        rows=rows,
        now=policy.score(models.policy, rows, tokens, temperature=temperature),
        reference=policy.score(models.reference, seen, tokens, temperature=temperature).logprobs,
    )


def _transcripts(completions: Completions, recipe: Recipe, state: State) -> tuple[tuple[str, ...], int, int]:
    """Texts of the completions with the tool's answers in place, the tool calls and how many failed."""
    texts = tuple(decode(row[:length]) for row, length in zip(completions.tokens, completions.lengths, strict=True))
    calls = sum(text.count(TOOL) for text in texts) if recipe.task.tools else 0
    if calls == 0:
        return texts, 0, 0
    works = iter(recipe.seams.tool_works(calls, state).tolist())
    told = []
    for text in texts:
        first, *rest = text.split(TOOL)
        told.append(first + "".join(TOOL + ("" if next(works) else FAILED) + piece for piece in rest))
    return tuple(told), calls, sum(text.count(TOOL + FAILED) for text in told)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Given:
    """Advantages a sample, and where a value head gives them a token each, those with values and returns."""

    samples: FloatArray
    tokens: FloatArray | None = None
    values: FloatArray = field(default_factory=lambda: np.empty(0))
    returns: FloatArray = field(default_factory=lambda: np.empty(0))


def _advantages(
    recipe: Recipe,
    models: Models,
    rewards: FloatArray,
    grouped: IntArray,
    divergence: FloatArray,
    rows: IntArray,
    mask: BoolArray,
) -> _Given:
    """What the algorithm makes of (batch,) rewards."""
    match recipe.algorithm:
        case "rloo":
            return _Given(samples=advantages.leave_one_out(rewards, grouped))
        case "reinforce":
            return _Given(samples=rewards - models.baseline)
        case "ppo" if models.value is not None:
            return _with_values(recipe, models.value, rewards, divergence, rows, mask)
        case _:
            return _Given(samples=advantages.group_relative(rewards, grouped, scaling=recipe.scaling))


def _with_values(
    recipe: Recipe, value: Weights, rewards: FloatArray, divergence: FloatArray, rows: IntArray, mask: BoolArray
) -> _Given:
    """GAE over per-token rewards: the KL penalty at each token, the (unpenalised) total at the last."""
    predicted = np.zeros(mask.shape)
    predicted[mask] = policy.forward(value, rows).outputs[:, 0]
    paid = np.zeros(mask.shape)
    paid[mask] = -recipe.coefficients.kl * divergence if recipe.kl_in_reward else 0.0
    paid[np.arange(len(mask)), mask.sum(axis=1) - 1] += rewards - (paid.sum(axis=1) if recipe.kl_in_reward else 0.0)
    raw, returns = advantages.generalized(paid, predicted, mask, discount=1.0, trace=recipe.trace)
    flat = raw[mask]
    white = (flat - flat.mean()) / (flat.std() + 1e-8)
    counts = mask.sum(axis=1)
    owner = np.nonzero(mask)[0]
    return _Given(
        samples=np.bincount(owner, white) / counts,
        tokens=white,
        values=predicted[mask],
        returns=returns[mask],
    )
