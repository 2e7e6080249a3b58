"""Decoding and masking of a batch of torch ids as trainers do it: batch_decode without special tokens, argmax of EOS."""

import torch

from rlprobe.verifier.pipeline import Pipeline
from rlprobe.verifier.selftest.correct.decode_keep import CharacterTokenizer


def completion_mask(completion_ids, eos_token_id):
    is_eos = completion_ids == eos_token_id
    eos_idx = torch.full((is_eos.size(0),), is_eos.size(1), dtype=torch.long)
    eos_idx[is_eos.any(dim=1)] = is_eos.int().argmax(dim=1)[is_eos.any(dim=1)]
    sequence_indices = torch.arange(is_eos.size(1)).expand(is_eos.size(0), -1)
    return (sequence_indices <= eos_idx.unsqueeze(1)).int()


def decode(completion_ids: torch.Tensor, processing_class):
    return processing_class.batch_decode(completion_ids, skip_special_tokens=True)


def make():
    return Pipeline(completion_mask=completion_mask, decode=decode, tokenizer=CharacterTokenizer())
