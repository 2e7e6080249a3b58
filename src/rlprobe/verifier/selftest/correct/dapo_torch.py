"""DAPO (2025) as TRL has it: asymmetric clip, sum over tokens divided by the tokens of the whole batch."""

import torch

from rlprobe.verifier.pipeline import Pipeline


class Config:
    epsilon = 0.2
    epsilon_high = 0.28
    beta = 0.0
    loss_type = "dapo"


def selective_log_softmax(logits, index):
    return torch.gather(logits.log_softmax(-1), dim=-1, index=index.unsqueeze(-1)).squeeze(-1)


def normalize(rewards, num_generations):
    grouped = rewards.view(-1, num_generations)
    mean = grouped.mean(dim=1).repeat_interleave(num_generations)
    std = grouped.std(dim=1).repeat_interleave(num_generations)
    return (rewards - mean) / (std + 1e-4)


def compute_loss(per_token_logps, old_per_token_logps, advantages, completion_mask, num_items_in_batch):
    log_ratio = per_token_logps - old_per_token_logps
    coef_1 = torch.exp(log_ratio)
    coef_2 = torch.clamp(coef_1, 1 - Config.epsilon, 1 + Config.epsilon_high)
    per_token_loss1 = coef_1 * advantages.unsqueeze(1)
    per_token_loss2 = coef_2 * advantages.unsqueeze(1)
    per_token_loss = -torch.min(per_token_loss1, per_token_loss2)
    return (per_token_loss * completion_mask).sum() / num_items_in_batch


def make():
    return Pipeline(
        logprobs=selective_log_softmax,
        advantages=normalize,
        loss=compute_loss,
        config=Config(),
        declare={"algorithm": "dapo", "epsilon": 0.2, "epsilon_high": 0.28},
    )
