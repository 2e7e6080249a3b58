"""The update phase: passes over a rollout, one optimizer step a minibatch."""

import math
from dataclasses import dataclass, field

import numpy as np

from rlprobe.lab import losses, optimizer, policy
from rlprobe.lab.losses import PolicyTerms
from rlprobe.lab.optimizer import Adam
from rlprobe.lab.policy import BoolArray, FloatArray, Generator, Weights
from rlprobe.lab.recipe import Recipe, State
from rlprobe.lab.rollout import Rollout
from rlprobe.lab.vocabulary import IntArray

_VALUE_CLIP = 0.5


@dataclass(slots=True)
class Learner:
    """What learns: the policy, its optimizer, and a value network with its own where the algorithm has one."""

    policy: Weights
    adam: Adam
    value: Weights | None = None
    value_adam: Adam = field(default_factory=Adam)


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """Numbers of one optimizer step.

    Attributes:
        terms: the policy loss over the trained tokens of the minibatch.
        logprobs: (n,) of those tokens; reference: (n,) theirs under the reference.
        grad_norm: before clipping; bad_tensors: gradient tensors that hold NaN or infinity.
        moved: norm of the weight change divided by the norm of the weights.
        changed: fraction of the weights whose value changed.
        skipped: whether the optimizer step was left out.
        value_loss, value_grad_norm, value_clip_fraction: of the value head; NaN where there is none.
    """

    terms: PolicyTerms
    logprobs: FloatArray
    grad_norm: float
    bad_tensors: int
    moved: float
    changed: float
    skipped: bool
    value_loss: float = math.nan
    value_grad_norm: float = math.nan
    value_clip_fraction: float = math.nan


def train(recipe: Recipe, learner: Learner, rollout: Rollout, state: State, rng: Generator) -> list[Update]:
    """All updates of one rollout; the learner holds the new weights afterwards."""
    updates = []
    batch = len(rollout.judged.totals)
    for _ in range(recipe.passes):
        order = rng.permutation(batch) if recipe.minibatches > 1 else np.arange(batch)
        for chosen in np.array_split(order, recipe.minibatches):
            members = np.isin(rollout.owner, chosen) & rollout.trained
            updates.append(_one(recipe, learner, rollout, members, state, rng))
    return updates


def token_weights(recipe: Recipe, owner: IntArray, cap: int) -> FloatArray:
    """(n,) weight of each trained token in the loss: what "loss_type" names differ in."""
    if len(owner) == 0:
        return np.empty(0)
    lengths = np.bincount(owner)[owner]
    samples = len(np.unique(owner))
    match recipe.loss_scale:
        case "sequence":
            return np.asarray(1.0 / (lengths * samples))
        case "constant":
            return np.full(len(owner), 1.0 / (samples * cap))
        case _:
            return np.full(len(owner), 1.0 / len(owner))


def _one(
    recipe: Recipe, learner: Learner, rollout: Rollout, members: BoolArray, state: State, rng: Generator
) -> Update:
    """One optimizer step on some tokens of a rollout."""
    before = learner.policy
    rows, tokens = rollout.rows[members], rollout.tokens[members]
    read = before if recipe.dropout == 0 else _thinned(before, recipe.dropout, rng)
    scored = policy.score(read, rows, tokens, temperature=recipe.sampling.temperature)
    coefficients = recipe.coefficients
    terms = losses.policy_terms(
        scored.logprobs,
        scored.entropy,
        old=rollout.old[members],
        reference=rollout.reference[members],
        advantages=rollout.advantages[members],
        weights=token_weights(recipe, rollout.owner[members], recipe.sampling.cap),
        coefficients=coefficients if not recipe.kl_in_reward else _without_kl(coefficients),
    )
    slope = recipe.seams.gradient(policy.gradient(read, scored, terms.d_logprobs, terms.d_entropy), state)
    size = optimizer.norm(slope)
    bad = sum(not np.isfinite(values).all() for values in slope.values())
    skipped = recipe.skip_nonfinite and bad > 0
    rate = recipe.learning_rate * recipe.schedule(state.step, state.steps)
    after = before if skipped else learner.adam.step(before, optimizer.clipped(slope, recipe.max_grad_norm), rate)
    learner.policy = recipe.seams.applied(before, after, state)
    change = {name: learner.policy[name] - before[name] for name in before}
    value = _value_step(recipe, learner, rollout, members)
    return Update(
        terms=terms,
        logprobs=scored.logprobs,
        grad_norm=size,
        bad_tensors=bad,
        moved=optimizer.norm(change) / optimizer.norm(before),
        changed=float(np.mean([(values != 0).mean() for values in change.values()])),
        skipped=skipped,
        value_loss=value[0],
        value_grad_norm=value[1],
        value_clip_fraction=value[2],
    )


def _value_step(recipe: Recipe, learner: Learner, rollout: Rollout, members: BoolArray) -> tuple[float, float, float]:
    """One step of the value head: its loss, gradient norm and clip fraction; NaN where there is none."""
    if learner.value is None:
        return math.nan, math.nan, math.nan
    kept = policy.forward(learner.value, rollout.rows[members])
    terms = losses.value_terms(
        kept.outputs[:, 0], old=rollout.values[members], returns=rollout.returns[members], clip=_VALUE_CLIP
    )
    slope = policy.backward(learner.value, kept, terms.d_values[:, None])
    learner.value = learner.value_adam.step(learner.value, optimizer.clipped(slope, 1.0), recipe.value_rate)
    return terms.loss, optimizer.norm(slope), terms.clip_fraction


def _without_kl(coefficients: losses.Coefficients) -> losses.Coefficients:
    return losses.Coefficients(
        clip_low=coefficients.clip_low, clip_high=coefficients.clip_high, entropy=coefficients.entropy
    )


def _thinned(weights: Weights, chance: float, rng: Generator) -> Weights:
    """Weights with some units of the first layer cut off from the next, the rest scaled up."""
    kept = rng.random(len(weights["middle"])) >= chance
    return weights | {"middle": weights["middle"] * (kept / (1.0 - chance))[:, None]}
