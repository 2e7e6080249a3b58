"""GRPO with the mean over the tokens of the batch, the correction of the sampler's log-probs, and k3 with coefficient."""

import torch

from rlprobe.verifier.pipeline import Pipeline


def grpo_loss(
    per_token_logps,
    old_per_token_logps,
    ref_per_token_logps,
    advantages,
    completion_mask,
    importance_sampling_ratio=None,
    epsilon_low=0.2,
    epsilon_high=0.2,
    beta=0.1,
):
    coef_1 = torch.exp(per_token_logps - old_per_token_logps)
    coef_2 = torch.clamp(coef_1, 1 - epsilon_low, 1 + epsilon_high)
    advantages = advantages.unsqueeze(1)
    per_token_loss = -torch.min(coef_1 * advantages, coef_2 * advantages)
    if importance_sampling_ratio is not None:
        per_token_loss = per_token_loss * importance_sampling_ratio
    per_token_kl = torch.exp(ref_per_token_logps - per_token_logps) - (ref_per_token_logps - per_token_logps) - 1
    per_token_loss = per_token_loss + beta * per_token_kl
    return (per_token_loss * completion_mask).sum() / completion_mask.sum().clamp(min=1.0)


def fused(
    per_token_logps,
    old_per_token_logps,
    ref_per_token_logps,
    advantages,
    completion_mask,
    importance_sampling_ratio=None,
    beta=0.1,
):
    total = per_token_logps.new_zeros(())
    for row in range(per_token_logps.shape[0]):
        keep = completion_mask[row].bool()
        now, old, ref = per_token_logps[row][keep], old_per_token_logps[row][keep], ref_per_token_logps[row][keep]
        ratio = (now - old).exp()
        chosen = torch.minimum(ratio * advantages[row], ratio.clamp(0.8, 1.2) * advantages[row])
        if importance_sampling_ratio is not None:
            chosen = chosen * importance_sampling_ratio[row][keep]
        total = total - chosen.sum() + beta * ((ref - now).exp() - 1 - (ref - now)).sum()
    return total / completion_mask.sum().clamp(min=1)


def make():
    return Pipeline(loss=grpo_loss, alternatives={"loss": fused})
