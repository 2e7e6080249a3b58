"""CISPO (MiniMax-M1, 2025): clips the importance weight, never the gradient of the log-prob."""

import torch

from rlprobe.verifier.pipeline import Pipeline

EPSILON_HIGH = 2.0


def cispo(logps, old_logps, adv, mask):
    weight = torch.exp(logps - old_logps)
    weight = torch.clamp(weight, max=1.0 + EPSILON_HIGH).detach()
    per_token = -weight * adv.unsqueeze(-1) * logps
    return (per_token * mask).sum() / mask.sum().clamp(min=1)


def make():
    return Pipeline(loss=cispo, declare={"algorithm": "cispo", "clip_high": EPSILON_HIGH, "aggregation": "token_mean"})
