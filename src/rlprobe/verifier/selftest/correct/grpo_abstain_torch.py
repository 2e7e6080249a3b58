"""GRPO whose reward functions may abstain (NaN): an abstaining row is left out of its group and earns nothing."""

import torch

from rlprobe.verifier.pipeline import Pipeline


def nanstd(values, dim):
    mean = values.nanmean(dim=dim, keepdim=True)
    count = (~values.isnan()).sum(dim=dim, keepdim=True)
    return (torch.nansum((values - mean) ** 2, dim=dim, keepdim=True) / (count - 1).clamp(min=1)).sqrt()


def advantages(rewards, num_generations=8, scale_rewards=True):
    grouped = rewards.view(-1, num_generations)
    result = grouped - grouped.nanmean(dim=1, keepdim=True)
    if scale_rewards:
        result = result / (nanstd(grouped, 1) + 1e-4)
    result = torch.nan_to_num(result, nan=0.0)
    return result.flatten()


def make():
    return Pipeline(advantages=advantages, config={"num_generations": 8}, declare={"algorithm": "grpo"})
