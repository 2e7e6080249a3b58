"""Dr. GRPO (2025): centred rewards, divided by a constant length instead of the row's own."""

import torch

from rlprobe.verifier.pipeline import Pipeline

MAX_TOKENS = 16


def token_logprobs(logits, tokens):
    return torch.log_softmax(logits, dim=-1).gather(2, tokens[..., None])[..., 0]


def centred(rewards, group_size):
    rewards = rewards.reshape(-1, group_size)
    return (rewards - rewards.mean(1, keepdim=True)).flatten()


def policy_loss(logprobs, old_logprobs, advantages, mask, ref_logprobs=None, beta=0.02, clip=0.2):
    ratio = (logprobs - old_logprobs).exp()
    adv = advantages[:, None]
    losses = torch.maximum(-ratio * adv, -ratio.clamp(1 - clip, 1 + clip) * adv)
    if ref_logprobs is not None:
        delta = logprobs - ref_logprobs
        losses = losses + beta * (torch.exp(-delta) + delta - 1)
    losses = torch.where(mask, losses, torch.zeros_like(losses))
    return losses.sum(dim=1).div(MAX_TOKENS).mean()


def make():
    return Pipeline(
        logprobs=token_logprobs,
        advantages=centred,
        loss=policy_loss,
        declare={"algorithm": "dr_grpo", "clip": 0.2, "kl_coefficient": 0.02, "max_completion_length": MAX_TOKENS},
    )
