"""GRPO without a word on settings, masked truncated rows, an entropy bonus and rows of any length; float32 inside."""

import torch

from rlprobe.verifier.pipeline import Pipeline


def sequence_mean(values, mask):
    return ((values * mask).sum(-1) / mask.sum(-1).clamp(min=1.0)).mean()


def grpo(logp, old_logp, adv, mask, ref_logp, entropies, eps_low=0.2, eps_high=0.3, kl_coef=0.05, entropy_coef=0.01):
    logp, old_logp, ref_logp = logp.float(), old_logp.float(), ref_logp.float()
    mask = mask.float()
    ratio = torch.exp(logp - old_logp)
    adv = adv.float().view(-1, 1)
    surrogate = torch.min(ratio * adv, ratio.clamp(1 - eps_low, 1 + eps_high) * adv)
    policy_loss = -sequence_mean(surrogate, mask)
    log_ratio = ref_logp - logp
    kl_loss = sequence_mean(log_ratio.exp() - 1 - log_ratio, mask)
    entropy_loss = sequence_mean(entropies.float(), mask)
    return policy_loss + kl_coef * kl_loss - entropy_coef * entropy_loss


def make():
    return Pipeline(loss=grpo, declare={"mask_truncated_completions": True})
