"""Log-probs of the whole sequence with a 0 for its first token, as wide as the ids; float32 inside; summed entropy."""

import torch
import torch.nn.functional as F

from rlprobe.verifier.pipeline import Pipeline


def sequence_logprobs(logits: torch.Tensor, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
    logp = F.log_softmax(logits[:, :-1].float(), dim=-1)
    picked = logp.gather(2, input_ids[:, 1:].unsqueeze(2)).squeeze(2)
    picked = picked * attention_mask[:, 1:]
    return F.pad(picked, (1, 0), value=0.0)


def mean_entropy(logits: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
    logp = F.log_softmax(logits, dim=-1)
    entropy = -(logp.exp() * logp).sum(-1)
    weights = attention_mask.to(entropy.dtype)
    return ((entropy * weights).sum(1) / weights.sum(1)).mean()


def make():
    return Pipeline(logprobs=sequence_logprobs, entropy=mean_entropy)
