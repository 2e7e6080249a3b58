"""GAE over completions with tool output in the middle: masked tokens are no transitions."""

import torch

from rlprobe.verifier.pipeline import Pipeline


def compute_gae(token_level_rewards, values, response_mask, gamma, lam):
    mask = response_mask.float().to(values.dtype)
    next_value = torch.zeros_like(values[:, 0])
    running = torch.zeros_like(values[:, 0])
    out = torch.zeros_like(values)
    for t in reversed(range(values.shape[1])):
        delta = token_level_rewards[:, t] + gamma * next_value - values[:, t]
        candidate = delta + gamma * lam * running
        next_value = values[:, t] * mask[:, t] + (1 - mask[:, t]) * next_value
        running = candidate * mask[:, t] + (1 - mask[:, t]) * running
        out[:, t] = running
    returns = out + values
    return out, returns


def make():
    return Pipeline(gae=compute_gae, declare={"algorithm": "ppo", "gamma": 0.99, "lam": 0.9})
