"""PPO's advantages (Schulman et al. 2016) for single-turn completions: GAE, then whitening over the response."""

import torch

from rlprobe.verifier.pipeline import Pipeline


def masked_mean(values, mask):
    return (values * mask).sum() / mask.sum()


def masked_var(values, mask):
    mean = masked_mean(values, mask)
    variance = masked_mean((values - mean) ** 2, mask)
    count = mask.sum()
    return variance * count / (count - 1)


def masked_whiten(values, mask, shift_mean=True):
    mean, var = masked_mean(values, mask), masked_var(values, mask)
    whitened = (values - mean) * torch.rsqrt(var + 1e-8)
    if not shift_mean:
        whitened = whitened + mean
    return whitened


def gae(rewards, values, mask, gamma=1.0, lam=0.95):
    mask = mask.to(values.dtype)
    values = values * mask
    rewards = rewards * mask
    lastgaelam = 0
    reversed_advantages = []
    length = rewards.size(1)
    for t in reversed(range(length)):
        nextvalues = values[:, t + 1] if t < length - 1 else 0.0
        delta = rewards[:, t] + gamma * nextvalues - values[:, t]
        lastgaelam = delta + gamma * lam * lastgaelam
        reversed_advantages.append(lastgaelam)
    advantages = torch.stack(reversed_advantages[::-1], dim=1)
    returns = advantages + values
    advantages = masked_whiten(advantages, mask)
    return advantages * mask, returns


def entropy(logits, mask):
    logp = logits.log_softmax(-1)
    per_token = -(logp.exp() * logp).sum(-1)
    mask = mask.to(per_token.dtype)
    return (per_token * mask).sum() / mask.sum()


def make():
    return Pipeline(
        gae=gae,
        whiten=masked_whiten,
        entropy=entropy,
        declare={"algorithm": "ppo", "lam": 0.95, "entropy_coefficient": 0.01},
    )
