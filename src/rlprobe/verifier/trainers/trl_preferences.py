"""Slots of TRL's DPO trainer: its loss with planted sequence log-probs, its scoring with the real network."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import TYPE_CHECKING

import torch

from rlprobe.verifier.trainers.planting import planted, stands_for

if TYPE_CHECKING:
    from transformers import Trainer


def slots(trainer: "Trainer") -> dict[str, object]:
    """Functions by slot."""
    return {"dpo_loss": _loss(trainer), "score": _score(trainer)}


def _loss(trainer: "Trainer") -> Callable[..., object]:
    @stands_for(trainer._compute_loss)
    def dpo_loss(
        chosen_logprobs: torch.Tensor,
        rejected_logprobs: torch.Tensor,
        ref_chosen_logprobs: torch.Tensor,
        ref_rejected_logprobs: torch.Tensor,
    ) -> object:
        policy = torch.cat([chosen_logprobs, rejected_logprobs]).unsqueeze(1)
        reference = torch.cat([ref_chosen_logprobs, ref_rejected_logprobs]).unsqueeze(1)
        rows = policy.shape[0]
        batch = {
            "input_ids": torch.zeros((rows, 2), dtype=torch.long),
            "attention_mask": torch.ones((rows, 2), dtype=torch.long),
            "completion_mask": torch.tensor([[0, 1]]).repeat(rows, 1),
        }
        with planted(trainer, ref_model=_says(reference), precompute_ref_logps=False):
            return trainer._compute_loss(_says(policy), batch, False)  # noqa: FBT003 - TRL's own signature

    return dpo_loss


def _score(trainer: "Trainer") -> Callable[..., object]:
    @stands_for(trainer._compute_loss)
    def score(model: torch.nn.Module, ids: torch.Tensor, mask: torch.Tensor) -> object:
        labels = ids.masked_fill(mask == 0, -100)
        return model(input_ids=ids, attention_mask=mask.long(), labels=labels, fused_lm_head=True).log_probs

    return score


def _says(logprobs: torch.Tensor) -> Callable[..., object]:
    """A model whose fused output is planted, one position a row."""
    nothing = torch.zeros_like(logprobs.detach())
    output = SimpleNamespace(
        log_probs=logprobs, entropy=nothing, mean_logits=nothing, is_top1=nothing.bool(), aux_loss=None,
        log_sum_sq_probs=nothing,
    )  # fmt: skip
    return lambda *_, **__: output
