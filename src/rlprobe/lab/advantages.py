"""From rewards to advantages, as each algorithm defines them."""

from typing import Literal

import numpy as np

from rlprobe.lab.policy import BoolArray, FloatArray
from rlprobe.lab.vocabulary import IntArray

Scaling = Literal["group", "none"]
_FLOOR = 1e-4  # keeps a group without spread from dividing by zero


def group_means(values: FloatArray, groups: IntArray) -> FloatArray:
    """(batch,) mean of the sample's group."""
    ids, inverse = np.unique(groups, return_inverse=True)
    counts = np.bincount(inverse, minlength=len(ids))
    return np.asarray((np.bincount(inverse, weights=values, minlength=len(ids)) / counts)[inverse])


def group_sizes(groups: IntArray) -> IntArray:
    """(batch,) samples in the sample's group."""
    ids, inverse = np.unique(groups, return_inverse=True)
    return np.asarray(np.bincount(inverse, minlength=len(ids))[inverse])


def group_deviations(values: FloatArray, groups: IntArray) -> FloatArray:
    """(batch,) sample standard deviation within the group (n - 1; 0 for a group of one)."""
    squares = group_means((values - group_means(values, groups)) ** 2, groups)
    sizes = group_sizes(groups)
    return np.asarray(np.sqrt(squares * sizes / np.maximum(sizes - 1, 1)))


def constant_groups(values: FloatArray, groups: IntArray) -> BoolArray:
    """(batch,) whether every sample of the sample's group has the same value; NaN is no value."""
    ids, first, inverse = np.unique(groups, return_index=True, return_inverse=True)
    differs = values != values[first][inverse]
    return np.asarray((np.bincount(inverse, weights=differs, minlength=len(ids)) == 0)[inverse])


def group_relative(rewards: FloatArray, groups: IntArray, *, scaling: Scaling) -> FloatArray:
    """GRPO (Shao et al. 2024): reward minus group mean, divided by the group's deviation; unscaled is Dr. GRPO."""
    centred = rewards - group_means(rewards, groups)
    return centred / (group_deviations(rewards, groups) + _FLOOR) if scaling == "group" else centred


def leave_one_out(rewards: FloatArray, groups: IntArray) -> FloatArray:
    """RLOO (Ahmadian et al. 2024): reward minus the mean of the other samples of the group."""
    sizes = group_sizes(groups)
    return np.asarray((rewards - group_means(rewards, groups)) * sizes / np.maximum(sizes - 1, 1))


def generalized(
    rewards: FloatArray, values: FloatArray, mask: BoolArray, *, discount: float, trace: float
) -> tuple[FloatArray, FloatArray]:
    """(batch, length) advantages and returns by GAE (Schulman et al. 2016) from per-token rewards and values."""
    advantages = np.zeros_like(rewards)
    carried = np.zeros(len(rewards))
    following = np.zeros(len(rewards))
    for position in range(rewards.shape[1] - 1, -1, -1):
        surprise = rewards[:, position] + discount * following - values[:, position]
        carried = np.where(mask[:, position], surprise + discount * trace * carried, 0.0)
        following = np.where(mask[:, position], values[:, position], 0.0)
        advantages[:, position] = carried
    return advantages, advantages + np.where(mask, values, 0.0)
