"""Statistics over all samples of a rollout, computed before any of them is left out of the recording.

Everything here is numpy on arrays of one entry a sample, groups contiguous: sample i belongs to group i // size.
"""

import numpy as np

from rlprobe.recording.run import BoolArray, FloatArray, IntArray

SAME = 1e-8  # two rewards of a group closer than this are the same; torch.isclose's absolute tolerance
ROUNDING = 1e-6  # relative to the largest reward; float32 totals differ by less than this from their own mean


def reward_statistics(rewards: FloatArray, size: int, *, low: float, high: float) -> dict[str, float]:
    """Spread of the total reward, over the batch and within groups.

    Args:
        rewards: (n,) total reward; NaN where a sample has none.
        size: samples a group; n is a multiple of it.
        low, high: smallest and largest reward seen so far in the run, which "all wrong" and "all right" mean.
    """
    known = rewards[~np.isnan(rewards)]
    if len(known) == 0:
        return {"reward_mean": float("nan")}
    out = {
        "reward_mean": float(known.mean()),
        "reward_min": float(known.min()),
        "reward_max": float(known.max()),
    }
    if len(known) > 1:
        out["reward_std_batch"] = float(known.std(ddof=1))
    groups = rewards.reshape(-1, size)
    whole = groups[(~np.isnan(groups)).sum(axis=1) > 1]
    if len(whole) == 0:
        return out
    lowest, highest = np.nanmin(whole, axis=1), np.nanmax(whole, axis=1)
    same = highest - lowest <= SAME
    out["reward_std_group_mean"] = float(np.nanstd(whole, axis=1, ddof=1).mean())
    out["zero_variance_group_fraction"] = float(same.mean())
    if high - low > SAME:
        out["all_right_group_fraction"] = float((same & (lowest >= high - SAME)).mean())
        out["all_wrong_group_fraction"] = float((same & (highest <= low + SAME)).mean())
    return out


def length_reward_correlation(rewards: FloatArray, lengths: FloatArray, size: int) -> float | None:
    """Mean over groups of Spearman's rank correlation of length and reward.

    Groups in which either does not vary say nothing and are left out; None when no group is left.
    """
    if size < 2:
        return None
    x, y = _ranks(lengths.reshape(-1, size)), _ranks(rewards.reshape(-1, size))
    x, y = x - x.mean(axis=1, keepdims=True), y - y.mean(axis=1, keepdims=True)
    spread = np.sqrt((x * x).sum(axis=1) * (y * y).sum(axis=1))
    usable = (spread > 0) & ~np.isnan(rewards.reshape(-1, size)).any(axis=1)
    return float(((x * y).sum(axis=1)[usable] / spread[usable]).mean()) if usable.any() else None


def centred(rewards: FloatArray, size: int) -> FloatArray:
    """(n,) reward minus the mean of its group; 0 where the difference is rounding, NaN where there is no reward."""
    groups = rewards.reshape(-1, size)
    known = ~np.isnan(groups)
    mean = np.nansum(groups, axis=1, keepdims=True) / np.maximum(known.sum(axis=1, keepdims=True), 1)
    out = (groups - mean).ravel()
    scale = np.abs(rewards[known.ravel()]).max(initial=1.0)
    return np.where(np.abs(out) <= ROUNDING * scale, 0.0, out)


def disagreement(advantages: FloatArray, differences: FloatArray) -> float | None:
    """Fraction of samples whose advantage has the opposite sign of reward minus group mean.

    Samples of which either is zero have no sign and are left out; None when none is left.
    """
    signed = (differences != 0) & ~np.isnan(differences) & (np.abs(advantages) > SAME)
    return float((differences[signed] * advantages[signed] < 0).mean()) if signed.any() else None


def duplicate_fraction(texts: list[str], size: int) -> float:
    """Mean over groups of the fraction of samples that repeat another completion of the group."""
    groups = [texts[start : start + size] for start in range(0, len(texts), size)]
    return float(np.mean([1 - len(set(group)) / len(group) for group in groups]))


def mixed_prompt_fraction(prompts: list[str], size: int) -> float:
    """Fraction of groups that hold more than one prompt."""
    groups = [prompts[start : start + size] for start in range(0, len(prompts), size)]
    return float(np.mean([len(set(group)) > 1 for group in groups]))


def repetition(ids: list[int], order: int = 4) -> float:
    """Fraction of n-grams of a token sequence that occurred in it before; 0 for one too short to have any."""
    total = len(ids) - order + 1
    if total < 1:
        return 0.0
    return 1 - len(set(zip(*(ids[i:] for i in range(order)), strict=False))) / total


def _ranks(values: FloatArray) -> FloatArray:
    """(g, n) ranks within each row, ties sharing their mean rank."""
    below: IntArray = (values[:, :, None] > values[:, None, :]).sum(axis=2)
    ties: BoolArray = values[:, :, None] == values[:, None, :]
    return np.asarray(below + (ties.sum(axis=2) - 1) / 2, dtype=np.float64)
