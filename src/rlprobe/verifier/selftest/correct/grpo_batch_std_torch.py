"""Group mean, spread of the whole batch (Liu et al. 2025, "Tricks or traps"): groups share one scale."""

import torch

from rlprobe.verifier.pipeline import Pipeline


def advantages(rewards, num_generations):
    mean_grouped_rewards = rewards.view(-1, num_generations).mean(dim=1)
    mean_grouped_rewards = torch.repeat_interleave(mean_grouped_rewards, num_generations, dim=0)
    std_rewards = rewards.std().expand_as(rewards)
    result = rewards - mean_grouped_rewards
    return result / (std_rewards + 1e-4)


def make():
    return Pipeline(
        advantages=advantages, config={"scale_rewards": "batch", "num_generations": 4}, declare={"algorithm": "grpo"}
    )
