"""GAE with episode ends inside a row, as in the usual one-file PPO of control tasks; rows are environments."""

import numpy as np

from rlprobe.verifier.pipeline import Pipeline


def gae(rewards, values, dones, last_value, gamma=0.99, gae_lambda=0.95):
    advantages = np.zeros_like(rewards)
    last = np.zeros(len(rewards))
    for t in range(rewards.shape[1] - 1, -1, -1):
        next_values = last_value if t == rewards.shape[1] - 1 else values[:, t + 1]
        alive = 1.0 - dones[:, t]
        delta = rewards[:, t] + gamma * next_values * alive - values[:, t]
        last = delta + gamma * gae_lambda * alive * last
        advantages[:, t] = last
    returns = advantages + values
    return advantages, returns


def make():
    return Pipeline(gae=gae)
