"""GRPO in numpy without any declaration: groups lie one after the other, flat groups are set to zero."""

import numpy as np

from rlprobe.verifier.pipeline import Pipeline


def advantages(rewards, group_size):
    out = np.empty(len(rewards))
    for start in range(0, len(rewards), group_size):
        group = rewards[start : start + group_size]
        spread = group.std()
        if spread < 1e-8:
            out[start : start + group_size] = 0.0
        else:
            out[start : start + group_size] = (group - group.mean()) / spread
    return out


def make():
    return Pipeline(advantages=advantages)
