"""GSPO (2025): one ratio a sequence, the geometric mean of its tokens' ratios, clipped within a few ten-thousandths."""

import torch

from rlprobe.verifier.pipeline import Pipeline

EPS_LOW, EPS_HIGH = 3e-4, 4e-4


def gspo_loss(logprobs, old_logprobs, advantages, mask):
    mask = mask.to(logprobs.dtype)
    lengths = mask.sum(dim=-1).clamp(min=1)
    log_ratio = ((logprobs - old_logprobs) * mask).sum(dim=-1) / lengths
    ratio = torch.exp(log_ratio)
    clipped = torch.clamp(ratio, 1 - EPS_LOW, 1 + EPS_HIGH)
    objective = torch.minimum(ratio * advantages, clipped * advantages)
    return -objective.mean()


def make():
    return Pipeline(loss=gspo_loss, declare={"algorithm": "gspo", "clip_low": EPS_LOW, "clip_high": EPS_HIGH})
