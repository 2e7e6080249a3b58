"""GRPO as in DeepSeekMath (2024): group-normalised rewards, token clip, k3 to the reference, mean of sequence means."""

import torch

from rlprobe.verifier.pipeline import Pipeline

EPSILON = 0.2
BETA = 0.04
TEMPERATURE = 1.0


def logprobs(logits, ids, temperature=TEMPERATURE):
    logits = logits / temperature
    chosen = logits.gather(-1, ids.unsqueeze(-1)).squeeze(-1)
    return chosen - torch.logsumexp(logits, dim=-1)


def advantages(rewards, group_size):
    grouped = rewards.view(-1, group_size)
    centred = grouped - grouped.mean(dim=1, keepdim=True)
    return (centred / (grouped.std(dim=1, keepdim=True) + 1e-4)).view(-1)


def kl(logprobs, ref_logprobs):
    difference = ref_logprobs - logprobs
    return torch.exp(difference) - difference - 1


def loss(logprobs, old_logprobs, advantages, mask, ref_logprobs):
    ratio = torch.exp(logprobs - old_logprobs)
    clipped = torch.clamp(ratio, 1 - EPSILON, 1 + EPSILON)
    advantages = advantages.unsqueeze(1)
    per_token = -torch.min(ratio * advantages, clipped * advantages)
    per_token = per_token + BETA * kl(logprobs, ref_logprobs)
    mask = mask.to(per_token.dtype)
    return ((per_token * mask).sum(dim=1) / mask.sum(dim=1).clamp(min=1)).mean()


def make():
    return Pipeline(
        logprobs=logprobs,
        advantages=advantages,
        kl=kl,
        loss=loss,
        declare={"algorithm": "grpo", "clip": 0.2, "kl_estimator": "k3", "kl_coefficient": 0.04, "loss_type": "grpo"},
    )
