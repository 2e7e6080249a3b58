"""GAE in numpy for episodes that may be cut short: a truncated row goes on with the critic's last value."""

import numpy as np

from rlprobe.verifier.pipeline import Pipeline

GAMMA = 0.99
LAMBDA = 0.9


def gae(rewards, values, mask, truncated, last_values):
    rows, length = rewards.shape
    advantages = np.zeros((rows, length))
    for row in range(rows):
        running = 0.0
        following = last_values[row] if truncated[row] else 0.0
        for t in range(length - 1, -1, -1):
            if not mask[row, t]:
                continue
            delta = rewards[row, t] + GAMMA * following - values[row, t]
            running = delta + GAMMA * LAMBDA * running
            advantages[row, t] = running
            following = values[row, t]
    return advantages


def make():
    return Pipeline(gae=gae, declare={"algorithm": "ppo", "gamma": 0.99, "lam": 0.9, "bootstrap_truncated": True})
