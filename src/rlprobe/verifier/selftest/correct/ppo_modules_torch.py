"""PPO's losses as torch modules that hold their clip ranges; the algorithm alone is declared."""

import torch
from torch import nn

from rlprobe.verifier.pipeline import Pipeline


def row_mean(values, mask):
    return ((values * mask).sum(dim=-1) / mask.sum(dim=-1)).mean()


class PolicyLoss(nn.Module):
    def __init__(self, clip_eps=0.2):
        super().__init__()
        self.clip_eps = clip_eps

    def forward(self, log_probs, old_log_probs, advantages, action_mask):
        ratio = (log_probs - old_log_probs).exp()
        clipped = ratio.clamp(1 - self.clip_eps, 1 + self.clip_eps)
        return row_mean(-torch.min(ratio * advantages, clipped * advantages), action_mask)


class ValueLoss(nn.Module):
    def __init__(self, clip_eps=0.2):
        super().__init__()
        self.clip_eps = clip_eps

    def forward(self, values, old_values, returns, action_mask):
        clipped = old_values + (values - old_values).clamp(-self.clip_eps, self.clip_eps)
        return 0.5 * row_mean(torch.max((clipped - returns) ** 2, (values - returns) ** 2), action_mask)


def make():
    return Pipeline(loss=PolicyLoss(), value_loss=ValueLoss(), declare={"algorithm": "ppo"})
