"""PPO with dual clip (Ye et al. 2020) and k1 in the loss, as verl has it; a dict comes back."""

import torch

from rlprobe.verifier.pipeline import Pipeline


def agg_loss(loss_mat, loss_mask):
    return torch.sum(loss_mat * loss_mask) / torch.sum(loss_mask)


def compute_policy_loss(old_log_prob, log_prob, advantages, response_mask, cliprange=0.2, clip_ratio_c=3.0):
    ratio = torch.exp(torch.clamp(log_prob - old_log_prob, min=-20.0, max=20.0))
    advantages = advantages.unsqueeze(-1)
    losses1 = -advantages * ratio
    losses2 = -advantages * torch.clamp(ratio, 1 - cliprange, 1 + cliprange)
    clipped = torch.maximum(losses1, losses2)
    lower = torch.min(-advantages * clip_ratio_c, clipped)
    losses = torch.where(advantages < 0, lower, clipped)
    return {"pg_loss": agg_loss(losses, response_mask), "ratio": ratio.mean().item()}


def make():
    return Pipeline(loss=compute_policy_loss, declare={"algorithm": "ppo"})
