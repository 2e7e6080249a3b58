"""Preference training: pairs of a right and a wrong answer, and the DPO loss over their log-probs."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rlprobe.lab import losses, optimizer, policy, schooling, tasks
from rlprobe.lab.losses import PreferenceTerms
from rlprobe.lab.optimizer import Adam
from rlprobe.lab.policy import FloatArray, Generator, Weights
from rlprobe.lab.recipe import Recipe
from rlprobe.lab.tasks import Prompts
from rlprobe.lab.trainer import Logged, evaluated
from rlprobe.lab.vocabulary import EOS, TOKEN, IntArray

_PAIRS = 32  # a step
_OPEN, _CLOSE, _ZERO = TOKEN["<"], TOKEN[">"], TOKEN["0"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pass:
    """A forward pass over (2 x pairs) answers, the chosen ones first, and their (2 x pairs) sequence log-probs."""

    scored: policy.Scored
    owner: IntArray
    sequences: FloatArray


def preference(recipe: Recipe, *, steps: int, seed: int) -> Iterator[Logged]:
    """Train with DPO on a fixed set of pairs and yield every step; the same arguments give the same bits."""
    rng = np.random.default_rng([seed, 1])
    start = schooling.base_policy(recipe.task, seed=seed, hidden=recipe.hidden, lessons=recipe.lessons)
    weights, adam = start, Adam()
    training, heldout = tasks.split(recipe.task, np.random.default_rng([seed, 4]))
    written = _answers(training, rng)
    for step in range(1, steps + 1):
        chosen = rng.integers(0, len(training), _PAIRS)
        rows = np.concatenate([chosen, chosen + len(training)])
        prompts = np.concatenate([training.tokens, training.tokens])[rows]
        now, then = (_read(w, prompts, written[rows]) for w in (weights, start))
        terms = losses.preference_terms(
            now.sequences[:_PAIRS],
            now.sequences[_PAIRS:],
            reference_chosen=then.sequences[:_PAIRS],
            reference_rejected=then.sequences[_PAIRS:],
            beta=recipe.beta,
        )
        pull = np.concatenate([terms.d_chosen, terms.d_rejected])[now.owner]
        slope = policy.gradient(weights, now.scored, pull, np.zeros(len(pull)))
        rate = recipe.learning_rate * recipe.schedule(step, steps)
        after = adam.step(weights, optimizer.clipped(slope, recipe.max_grad_norm), rate)
        row = _measured(terms, now) | {
            "learning_rate": rate,
            "kl_coefficient": recipe.beta,
            "grad_norm": optimizer.norm(slope),
            "weight_update_ratio": optimizer.norm({n: after[n] - weights[n] for n in after}) / optimizer.norm(weights),
        }
        weights = after
        if recipe.evaluate_every and (step % recipe.evaluate_every == 0 or step == 1):
            row["evaluation_score/heldout"] = evaluated(recipe, weights, heldout, seed)
        yield Logged(step=step, metrics=row, samples=[])


def _answers(prompts: Prompts, rng: Generator) -> IntArray:
    """(2n, 6) bracketed answers: the right one to each prompt, then one with a wrong digit to each."""
    right = np.array([[_ZERO + int(digit) for digit in answer] for answer in prompts.answers], dtype=np.int64)
    wrong = right.copy()
    rows, places = np.arange(len(right)), rng.integers(0, right.shape[1], len(right))
    wrong[rows, places] = _ZERO + (wrong[rows, places] - _ZERO + rng.integers(1, 10, len(right))) % 10
    digits = np.concatenate([right, wrong])
    edge = np.ones((len(digits), 1), dtype=np.int64)
    return np.concatenate([_OPEN * edge, digits, _CLOSE * edge, EOS * edge], axis=1)


def _read(weights: Weights, prompts: IntArray, answers: IntArray) -> _Pass:
    batch, length = answers.shape
    rows = policy.features(prompts, answers).reshape(batch * length, -1)
    scored = policy.score(weights, rows, answers.reshape(-1), temperature=1.0)
    owner = np.repeat(np.arange(batch), length)
    return _Pass(scored=scored, owner=owner, sequences=scored.logprobs.reshape(batch, length).sum(axis=1))


def _measured(terms: PreferenceTerms, now: _Pass) -> dict[str, float]:
    margin = terms.chosen_rewards - terms.rejected_rewards
    return {
        "loss": terms.loss,
        "chosen_logprob_mean": float(now.sequences[:_PAIRS].mean()),
        "rejected_logprob_mean": float(now.sequences[_PAIRS:].mean()),
        "chosen_reward_mean": float(terms.chosen_rewards.mean()),
        "rejected_reward_mean": float(terms.rejected_rewards.mean()),
        "preference_margin_mean": float(margin.mean()),
        "preference_accuracy_fraction": float((margin > 0).mean()),
        "entropy_mean": float(now.scored.entropy.mean()),
        "samples_count": float(2 * _PAIRS),
    }
