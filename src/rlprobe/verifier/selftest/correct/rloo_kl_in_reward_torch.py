"""RLOO (2024) with the KL in the reward: one unnormalised ratio a sequence, as in TRL."""

import torch

from rlprobe.verifier.pipeline import Pipeline


def kl_penalty(logprobs, ref_logprobs):
    return logprobs - ref_logprobs


def leave_one_out(rewards, rloo_k):
    rewards = rewards.reshape(-1, rloo_k)
    baseline = (rewards.sum(1, keepdim=True) - rewards) / (rloo_k - 1)
    return (rewards - baseline).reshape(-1)


def loss(new_logprobs, old_logprobs, advantages, mask, clip_range=0.2):
    new_sum = torch.where(mask, new_logprobs, 0.0).sum(1)
    old_sum = torch.where(mask, old_logprobs, 0.0).sum(1)
    ratio = torch.exp(new_sum - old_sum)
    pg_losses = -advantages * ratio
    pg_losses2 = -advantages * torch.clamp(ratio, 1.0 - clip_range, 1.0 + clip_range)
    return torch.max(pg_losses, pg_losses2).mean()


def make():
    return Pipeline(
        kl=kl_penalty,
        advantages=leave_one_out,
        loss=loss,
        declare={"algorithm": "rloo", "kl_estimator": "k1", "clip": 0.2},
    )
