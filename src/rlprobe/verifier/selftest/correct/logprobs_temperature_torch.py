"""The sampling temperature is a constant of the module; cross entropy gives the log-probs."""

import torch
from torch.nn.functional import cross_entropy

from rlprobe.verifier.pipeline import Pipeline

TEMPERATURE = 0.7


def per_token_logps(logits, targets):
    logits = logits / TEMPERATURE
    flat = cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none")
    return -flat.view(targets.shape)


def streamed(logits, targets, block=3):
    logits = logits / TEMPERATURE
    top = torch.full(targets.shape, float("-inf"), dtype=logits.dtype)
    total = torch.zeros(targets.shape, dtype=logits.dtype)
    for start in range(0, logits.shape[-1], block):
        part = logits[..., start : start + block]
        higher = torch.maximum(top, part.max(-1).values)
        total = total * (top - higher).exp() + (part - higher.unsqueeze(-1)).exp().sum(-1)
        top = higher
    return logits.gather(-1, targets.unsqueeze(-1)).squeeze(-1) - top - total.log()


def make():
    return Pipeline(logprobs=per_token_logps, alternatives={"logprobs": streamed}, config={"temperature": TEMPERATURE})
