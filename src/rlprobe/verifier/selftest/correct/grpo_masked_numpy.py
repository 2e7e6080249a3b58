"""GRPO with rejected rollouts: a masked sample takes no part in its group's mean and spread."""

import numpy as np

from rlprobe.verifier.pipeline import Pipeline


def advantages(rewards, group_ids, mask, eps=1e-8):
    rewards = np.asarray(rewards, dtype=np.float64)
    keep = np.asarray(mask, dtype=bool)
    result = np.zeros_like(rewards)
    for group in np.unique(group_ids):
        members = (group_ids == group) & keep
        if members.sum() < 2:
            continue
        chosen = rewards[members]
        result[members] = (chosen - chosen.mean()) / (chosen.std() + eps)
    return result


def make():
    return Pipeline(advantages=advantages, declare={"baseline": "group"})
