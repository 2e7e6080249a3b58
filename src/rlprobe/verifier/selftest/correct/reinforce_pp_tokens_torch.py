"""REINFORCE++ (Hu 2025) on token-level rewards: returns to go, whitened over all tokens of the batch with ddof 1."""

import torch

from rlprobe.verifier.pipeline import Pipeline


def returns_to_go(token_level_rewards, response_mask, gamma):
    returns = torch.zeros_like(token_level_rewards)
    running = torch.zeros(token_level_rewards.shape[0])
    for t in reversed(range(token_level_rewards.shape[1])):
        running = token_level_rewards[:, t] + gamma * running
        returns[:, t] = running
        running = running * response_mask[:, t]
    return returns


def compute_advantage(token_level_rewards, response_mask, gamma=1.0):
    returns = returns_to_go(token_level_rewards, response_mask, gamma)
    count = response_mask.sum()
    mean = (returns * response_mask).sum() / count
    variance = ((returns - mean) ** 2 * response_mask).sum() / (count - 1)
    advantages = (returns - mean) * torch.rsqrt(variance + 1e-8)
    return advantages * response_mask, returns


def make():
    return Pipeline(advantages=compute_advantage, declare={"algorithm": "reinforce++"})
