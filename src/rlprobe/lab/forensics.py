"""The sample rows of a step, under the recording format's column names."""

import numpy as np

from rlprobe.lab.losses import kl_tokens
from rlprobe.lab.measures import repeated
from rlprobe.lab.policy import FloatArray
from rlprobe.lab.recipe import Recipe
from rlprobe.lab.rollout import Rollout
from rlprobe.lab.update import Update


def sample_rows(recipe: Recipe, rollout: Rollout, updates: list[Update]) -> list[dict[str, object]]:
    """One row a sample, in the order in which they were written."""
    lengths = rollout.completions.lengths
    kl, _ = kl_tokens(rollout.old, rollout.reference, recipe.kl_estimator)

    def mean(values: FloatArray) -> list[float]:
        return [float(x) for x in np.bincount(rollout.owner, values) / lengths]

    last = _last_ratios(rollout, updates)
    columns: dict[str, list[object]] = {
        "sample": list(range(len(lengths))),
        "group": [str(group) for group in rollout.grouped.tolist()],
        "prompt": list(rollout.prompts.texts),
        "completion": list(rollout.judged.texts),
        "reward": rollout.judged.totals.tolist(),
        "right": rollout.judged.right.tolist(),
        "advantage": rollout.credited.tolist(),
        "prompt_tokens": [rollout.prompts.tokens.shape[1]] * len(lengths),
        "completion_tokens": lengths.tolist(),
        "stop_reason": ["eos" if ended else "length" for ended in rollout.completions.ended.tolist()],
        "truncated": (~rollout.completions.ended).tolist(),
        "repetition": repeated(rollout.completions.tokens, lengths).tolist(),
        "logprob": list(mean(rollout.old)),
        "old_logprob": list(mean(rollout.old)),
        "reference_logprob": list(mean(rollout.reference)),
        "sampler_logprob": list(mean(rollout.sampled)),
        "kl": list(mean(kl)),
        "entropy": list(mean(rollout.entropy)),
        "ratio_mean": list(mean(last)),
    }
    for part, values in zip(recipe.parts, rollout.judged.rewards, strict=True):
        columns[f"reward/{part.name}"] = values.tolist()
    rows: list[dict[str, object]] = [
        dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
    ]
    for row, text, handed in zip(rows, rollout.judged.texts, rollout.judged.handed, strict=True):
        if text != handed:
            row |= {f"reward_text/{part.name}": handed for part in recipe.parts}
    return rows


def _last_ratios(rollout: Rollout, updates: list[Update]) -> FloatArray:
    """(n,) importance ratio at the last visit of each token, where one update saw them all; 1 elsewhere."""
    ratios = np.ones(len(rollout.tokens))
    if updates and len(updates[-1].terms.ratio) == int(rollout.trained.sum()):
        ratios[rollout.trained] = updates[-1].terms.ratio
    return ratios
