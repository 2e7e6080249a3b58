"""The row of a step, under canonical names, as a careful training loop logs it."""

import math
from collections.abc import Callable

import numpy as np

from rlprobe.lab import advantages
from rlprobe.lab.losses import kl_tokens
from rlprobe.lab.policy import BoolArray, FloatArray
from rlprobe.lab.recipe import Recipe
from rlprobe.lab.rewards import formatted
from rlprobe.lab.rollout import Rollout
from rlprobe.lab.update import Update
from rlprobe.lab.vocabulary import FOREIGN, TOOL, IntArray

Row = dict[str, float]
_BUCKETS = 4  # quarters of the relative position in which the KL is told apart


def measured(recipe: Recipe, rollout: Rollout, updates: list[Update]) -> Row:
    """Every metric of one step; a metric that has no meaning here is left out, a broken one is NaN."""
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        return {
            **_rewards(recipe, rollout),
            **_advantages(recipe, rollout),
            **_policy(recipe, rollout, updates),
            **_sampler(rollout),
            **_optimization(rollout, updates),
            **_generation(recipe, rollout),
        }


def _rewards(recipe: Recipe, rollout: Rollout) -> Row:
    totals, groups = rollout.judged.totals, rollout.groups
    row = {
        "reward_mean": float(totals.mean()),
        "reward_std_batch": float(totals.std(ddof=1)),
        "reward_std_group_mean": float(advantages.group_deviations(totals, groups).mean()),
        "reward_min": float(totals.min()),
        "reward_max": float(totals.max()),
        "reward_nonfinite_count": float((~np.isfinite(totals)).sum()),
        "accuracy_fraction": float(rollout.judged.right.mean()),
        "format_fraction": float(np.mean([formatted("", text) for text in rollout.judged.texts])),
        "length_reward_correlation": _length_correlation(rollout),
        "reward_text_mismatch_fraction": float(
            np.mean([a != b for a, b in zip(rollout.judged.texts, rollout.judged.handed, strict=True)])
        ),
    }
    for part, values in zip(recipe.parts, rollout.judged.rewards, strict=True):
        row[f"reward_component_mean/{part.name}"] = float(values.mean())
        row[f"reward_component_std/{part.name}"] = float(values.std(ddof=1))
    if recipe.log_truth:
        row["true_reward_mean"] = row["accuracy_fraction"]
    if recipe.kl_in_reward:
        row["reward_with_kl_mean"] = float(rollout.penalised.mean())
    if math.isnan(row["length_reward_correlation"]):
        del row["length_reward_correlation"]
    return row


def _length_correlation(rollout: Rollout) -> float:
    """Mean Spearman correlation of length and reward over the groups in which both vary; NaN where none does."""
    found = []
    for group in np.unique(rollout.groups):
        inside = rollout.groups == group
        lengths, totals = ranks(rollout.completions.lengths[inside]), ranks(rollout.judged.totals[inside])
        if lengths.std() > 0 and totals.std() > 0:
            found.append(float(np.corrcoef(lengths, totals)[0, 1]))
    return float(np.mean(found)) if found else math.nan


def ranks(values: FloatArray | IntArray) -> FloatArray:
    """Ranks with ties shared."""
    ordered = np.sort(values)
    return np.asarray((np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right")) / 2)


def _advantages(recipe: Recipe, rollout: Rollout) -> Row:
    used, totals, groups = rollout.credited, rollout.judged.totals, rollout.groups
    constant = advantages.constant_groups(totals, groups)
    centred = totals - advantages.group_means(totals, groups)
    best, worst = sum(part.weight for part in recipe.parts), totals.min()
    row = {
        "advantage_mean": float(used.mean()),
        "advantage_std": float(used.std()),
        "advantage_min": float(used.min()),
        "advantage_max": float(used.max()),
        "advantage_abs_mean": float(np.abs(used).mean()),
        "positive_advantage_token_fraction": float((rollout.advantages > 0).mean()),
    }
    if recipe.algorithm in ("grpo", "dr_grpo", "rloo"):
        row |= {
            "advantage_reward_disagreement_fraction": float((used * centred < 0).mean()),
            "zero_variance_group_fraction": float(constant.mean()),
            "all_right_group_fraction": float((constant & (totals >= best - 1e-9)).mean()),
            "all_wrong_group_fraction": float((constant & (totals < best - 1e-9) & (totals <= worst + 1e-9)).mean()),
            "mixed_prompt_group_fraction": _mixed(rollout),
            "group_size_mean": float(recipe.group_size),
            "group_size_min": float(np.bincount(rollout.grouped).min()),
        }
    if len(rollout.returns):
        row |= {
            "return_mean": float(rollout.returns.mean()),
            "return_min": float(rollout.returns.min()),
            "return_max": float(rollout.returns.max()),
        }
    return row


def _mixed(rollout: Rollout) -> float:
    """Fraction of the groups in use that hold more than one prompt."""
    held: dict[int, set[str]] = {}
    for group, text in zip(rollout.grouped.tolist(), rollout.prompts.texts, strict=True):
        held.setdefault(group, set()).add(text)
    return sum(len(texts) > 1 for texts in held.values()) / len(held)


def _policy(recipe: Recipe, rollout: Rollout, updates: list[Update]) -> Row:
    divergence, _ = kl_tokens(rollout.old, rollout.reference, recipe.kl_estimator)
    used = rollout.advantages
    lowest, highest = _per_update(updates, lambda u: u.terms.low), _per_update(updates, lambda u: u.terms.high)
    ratios = [u.terms.ratio for u in updates if len(u.terms.ratio)]
    row = {
        "entropy_mean": float(rollout.entropy.mean()),
        "kl_mean": float(divergence.mean()),
        "kl_max": float(divergence.max()),
        "kl_coefficient": recipe.coefficients.kl,
        "clip_fraction": lowest + highest,
        "clip_fraction_low": lowest,
        "clip_fraction_high": highest,
        "logprob_mean": float(rollout.old.mean()),
    }
    if ratios:
        first = ratios[0]
        row |= {
            "kl_old_mean": float(np.mean([(ratio - 1.0 - np.log(ratio)).mean() for ratio in ratios])),
            "ratio_mean": float(np.mean([ratio.mean() for ratio in ratios])),
            "ratio_max": float(max(ratio.max() for ratio in ratios)),
            "ratio_min": float(min(ratio.min() for ratio in ratios)),
            "ratio_first_pass_deviation": float(np.abs(first - 1.0).max()),
        }
    for name, chosen in (("positive", used > 0), ("negative", used < 0)):
        if chosen.any():
            row[f"logprob_{name}_mean"] = float(rollout.old[chosen].mean())
    return row | _positions(rollout, divergence)


def _per_update(updates: list[Update], of: Callable[[Update], BoolArray]) -> float:
    """Mean over updates of a fraction of tokens."""
    found = [float(of(update).mean()) for update in updates if len(of(update))]
    return float(np.mean(found)) if found else 0.0


def _positions(rollout: Rollout, divergence: FloatArray) -> Row:
    """Where in the completion the KL sits, with the share of tokens that lie there."""
    size = np.abs(divergence)
    total = float(size.sum())
    lengths = rollout.completions.lengths[rollout.owner]
    bucket = np.minimum(rollout.place * _BUCKETS // lengths, _BUCKETS - 1)
    row = {}
    for index in range(_BUCKETS):
        row[f"kl_position_token_fraction/{index}"] = float((bucket == index).mean())
        if total > 1e-9:
            row[f"kl_position_fraction/{index}"] = float(size[bucket == index].sum() / total)
    return row


def _sampler(rollout: Rollout) -> Row:
    """The gap between the sampler's log-probs and the trainer's."""
    if rollout.old is rollout.sampled:
        return {}
    trainer, engine = np.exp(rollout.old), np.exp(rollout.sampled)
    gap = rollout.old - rollout.sampled
    ratio = np.exp(np.clip(gap, -40.0, 40.0))
    row = {
        "sampler_logprob_difference_mean": float(np.abs(gap).mean()),
        "sampler_logprob_difference_max": float(np.abs(gap).max()),
        "sampler_probability_difference_mean": float(np.abs(trainer - engine).mean()),
        "sampler_probability_difference_max": float(np.abs(trainer - engine).max()),
        "sampler_kl_mean": float((ratio - 1.0 - gap).mean()),
        "sampler_ratio_mean": float(ratio.mean()),
        "sampler_ratio_max": float(ratio.max()),
        "sampler_ratio_min": float(ratio.min()),
        "effective_sample_fraction": float(ratio.sum() ** 2 / (len(ratio) * (ratio**2).sum())),
    }
    if trainer.std() > 0 and engine.std() > 0:
        row["sampler_probability_correlation"] = min(float(np.corrcoef(trainer, engine)[0, 1]), 1.0)
    return row


def _optimization(rollout: Rollout, updates: list[Update]) -> Row:
    def mean(of: Callable[[Update], float]) -> float:
        return float(np.mean([of(update) for update in updates]))

    row = {
        "loss": mean(lambda u: u.terms.loss),
        "policy_loss": mean(lambda u: u.terms.policy),
        "kl_loss": mean(lambda u: u.terms.kl),
        "entropy_loss": mean(lambda u: u.terms.entropy),
        "grad_norm": mean(lambda u: u.grad_norm),
        "grad_nonfinite_count": float(sum(u.bad_tensors for u in updates)),
        "logprob_nonfinite_count": float((~np.isfinite(rollout.old)).sum()),
        "weight_update_ratio": mean(lambda u: u.moved),
        "weight_changed_fraction": mean(lambda u: u.changed),
        "skipped_update_fraction": mean(lambda u: float(u.skipped)),
    }
    if len(rollout.values):
        spread = float(rollout.returns.var())
        row |= {
            "value_mean": float(rollout.values.mean()),
            "value_loss": mean(lambda u: u.value_loss),
            "value_grad_norm": mean(lambda u: u.value_grad_norm),
            "value_clip_fraction": mean(lambda u: u.value_clip_fraction),
        }
        if spread > 1e-12:
            row["value_explained_variance"] = 1.0 - float((rollout.returns - rollout.values).var()) / spread
    return row


def _generation(recipe: Recipe, rollout: Rollout) -> Row:
    lengths, ended = rollout.completions.lengths, rollout.completions.ended
    cut = ~ended & (lengths >= recipe.sampling.cap)
    texts = rollout.judged.texts
    letters = sum(map(str.isalpha, "".join(texts)))
    row = {
        "completion_tokens_mean": float(lengths.mean()),
        "completion_tokens_min": float(lengths.min()),
        "completion_tokens_max": float(lengths.max()),
        "completion_tokens_std": float(lengths.std()),
        "terminated_tokens_mean": float(lengths[ended].mean()) if ended.any() else 0.0,
        "prompt_tokens_mean": float(rollout.prompts.tokens.shape[1]),
        "truncated_fraction": float(cut.mean()),
        "repetition_fraction": float(repeated(rollout.completions.tokens, lengths).mean()),
        "empty_fraction": float(np.mean([not text.strip() for text in texts])),
        "duplicate_fraction": _duplicates(recipe, rollout),
        "foreign_script_fraction": sum(text.count(c) for text in rollout.judged.texts for c in FOREIGN)
        / max(letters, 1),
        "tokens_total": float(lengths.sum() + rollout.prompts.tokens.size),
        "samples_count": float(len(lengths)),
    }
    for name, chosen in (("right", rollout.credited > 0), ("wrong", rollout.credited < 0)):
        if chosen.any():
            row[f"completion_tokens_{name}_mean"] = float(lengths[chosen].mean())
    if recipe.task.tools:
        row["tool_calls_mean"] = sum(text.count(TOOL) for text in rollout.judged.texts) / len(lengths)
        if rollout.judged.tool_calls:
            row["tool_failure_fraction"] = rollout.judged.tool_failures / rollout.judged.tool_calls
    return row


def repeated(tokens: IntArray, lengths: IntArray) -> FloatArray:
    """(batch,) fraction of each completion's 4-grams that occurred in it before."""
    fractions = np.zeros(len(tokens))
    for index, (row, length) in enumerate(zip(tokens.tolist(), lengths.tolist(), strict=True)):
        grams = [tuple(row[start : start + 4]) for start in range(length - 3)]
        if grams:
            fractions[index] = 1.0 - len(set(grams)) / len(grams)
    return fractions


def _duplicates(recipe: Recipe, rollout: Rollout) -> float:
    """Mean over groups of the fraction of samples that repeat another's text."""
    size = recipe.group_size
    groups = [rollout.judged.texts[start : start + size] for start in range(0, len(rollout.judged.texts), size)]
    return float(np.mean([1.0 - len(set(texts)) / len(texts) for texts in groups]))
