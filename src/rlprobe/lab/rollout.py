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
class Rollout:
    """One step's samples before any update; arrays over the batch, or over the n tokens that were written.

    Attributes:
        prompts, completions: what went in and what was written.
        groups: (batch,) true group of each sample; grouped: the one that the advantage used.
        texts, handed: the completions as text, and the texts that the reward functions received.
        rewards: (functions, batch); totals: (batch,) weighted sum before any KL penalty.
        right: (batch,) whether the completion itself answers its prompt.
        owner: (n,) sample of each token; place: (n,) its position.
        rows, tokens: (n, slots) features and (n,) tokens.
        old, reference, sampled: (n,) log-probs under the policy, the reference and the sampler; entropy: (n,) nats.
        advantages: (n,) as the loss uses them; credited: (batch,) their mean a sample.
        trained: (n,) whether the loss sees the token.
        returns, values: (n,) of the value head; empty where there is none.
        lag: updates by which the sampler was behind.
        tool_calls, tool_failures: in the whole batch.
    """

    prompts: Prompts
    completions: Completions
    groups: IntArray
    grouped: IntArray
    texts: tuple[str, ...]
    handed: tuple[str, ...]
    rewards: FloatArray
    totals: FloatArray
    penalised: FloatArray
    right: BoolArray
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
    tool_calls: int
    tool_failures: int


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
    size, seams = recipe.group_size, recipe.seams
    groups = np.repeat(np.arange(len(prompts)), size)
    asked = prompts.take(groups)
    lag = seams.lag(state)
    behind = models.policy if lag <= 0 else state.past[-1 - lag] if lag < len(state.past) else state.start
    completions = sampler.sample(behind, asked.tokens, rng, seams.sampling(recipe.sampling, state), group_size=size)
    transcripts, calls, failures = _transcripts(completions, recipe, state)
    texts = seams.decoded(transcripts, state)
    handed = seams.handed(texts, state)
    judged = [[part.function(a, t) for a, t in zip(asked.answers, handed, strict=True)] for part in recipe.parts]
    rewards = seams.returned(np.array(judged, dtype=np.float64), state)
    totals = np.asarray([part.weight for part in recipe.parts]) @ rewards

    mask = completions.mask
    owner, place = np.nonzero(mask)
    rows, tokens = policy.features(asked.tokens, completions.tokens)[mask], completions.tokens[mask]
    temperature = recipe.sampling.temperature or 1.0
    now = policy.score(models.policy, rows, tokens, temperature=temperature)
    reference = policy.score(
        models.reference, seams.reference_view(rows, place), tokens, temperature=temperature
    ).logprobs
    grouped = seams.grouping(groups, state)
    divergence = now.logprobs - reference
    penalised = totals - recipe.coefficients.kl * np.bincount(owner, divergence) if recipe.kl_in_reward else totals
    given = _advantages(recipe, models, penalised, grouped, divergence, rows, mask)
    credited = seams.credited(given.samples, totals, state)
    per_token = credited[owner] if given.tokens is None else given.tokens + (credited - given.samples)[owner]
    sampled = completions.logprobs[mask]
    return Rollout(
        prompts=asked,
        completions=completions,
        groups=groups,
        grouped=grouped,
        texts=texts,
        handed=handed,
        rewards=rewards,
        totals=totals,
        penalised=penalised,
        right=np.array([f"<{a}>" in t for a, t in zip(asked.answers, texts, strict=True)]),
        owner=owner,
        place=place,
        rows=rows,
        tokens=tokens,
        old=sampled if recipe.old_from_sampler else now.logprobs,
        reference=reference,
        sampled=sampled,
        entropy=now.entropy,
        advantages=per_token,
        credited=credited,
        trained=seams.trained(mask, completions.ended, state)[mask],
        returns=given.returns,
        values=given.values,
        lag=lag,
        tool_calls=calls,
        tool_failures=failures,
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
