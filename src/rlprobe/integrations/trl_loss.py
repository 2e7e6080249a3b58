"""What a TRL trainer's loss works on, and the terms that it adds up."""

import math
from collections.abc import Mapping

from torch import Tensor

from rlprobe.integrations.trl_settings import algorithm_of
from rlprobe.integrations.trl_tokens import LossInputs, Normalizer, kl_term
from rlprobe.integrations.trl_trainer import Trainer

Policy = tuple[Tensor, Tensor | None, Tensor | None]  # log-probs (B, T), entropies (B, T), auxiliary loss ()


def loss_of(trainer: Trainer) -> str:
    """Whose loss the trainer computes: "GRPOTrainer", "RLOOTrainer", "GMPOTrainer", or "" for one of the user's own."""
    owner = next((kind.__name__ for kind in type(trainer).__mro__ if "_compute_loss" in vars(kind)), "")
    return owner if owner in ("GRPOTrainer", "RLOOTrainer", "GMPOTrainer") else ""


def clip_range(trainer: Trainer) -> tuple[float, float]:
    """How far below and above 1 the ratio may go before its gradient is cut; infinitely where that is not known."""
    low, high = float(trainer.epsilon_low), float(trainer.epsilon_high)
    if loss_of(trainer) == "GMPOTrainer":  # its range is of the logarithm
        return 1 - math.exp(-low), math.exp(high) - 1
    return (low, high) if loss_of(trainer) else (math.inf, math.inf)


def level_of(trainer: Trainer) -> str:
    """What one importance ratio is of: RLOO's of the sequence's summed log-probs, GSPO's of their mean."""
    if algorithm_of(trainer) == "rloo":
        return "sequence sum"
    return "token" if trainer.importance_sampling_level == "token" else "sequence mean"


def loss_inputs(
    trainer: Trainer,
    policy: Policy,
    inputs: Mapping[str, Tensor],
    *,
    old: Tensor | None,
    reference: Tensor | None,
    index: Tensor | None,
) -> LossInputs:
    """The tensors of one loss call, detached."""
    mask = inputs["completion_mask"]
    low, high = clip_range(trainer)
    return LossInputs(
        logprobs=policy[0].detach(),
        entropies=None if policy[1] is None else policy[1].detach(),
        mask=mask * inputs["tool_mask"] if "tool_mask" in inputs else mask,
        advantages=inputs["advantages"],
        old=old,
        reference=reference,
        sampler=inputs.get("sampling_per_token_logps"),
        index=index,
        level=level_of(trainer),
        clip_low=low,
        clip_high=high,
    )


def loss_terms(
    trainer: Trainer,
    found: LossInputs,
    inputs: Mapping[str, Tensor],
    *,
    coefficient: float,
    auxiliary: Tensor | None,
) -> tuple[dict[str, Tensor], bool]:
    """The terms of the loss beside the policy's, and whether they are all there.

    RLOO's loss is its policy term alone: its KL is in the reward.
    """
    terms: dict[str, Tensor] = {}
    if algorithm_of(trainer) == "rloo":
        return terms, auxiliary is None and bool(loss_of(trainer))
    if not loss_of(trainer):
        return terms, False
    geometric = loss_of(trainer) == "GMPOTrainer"
    accumulation = float(trainer.current_gradient_accumulation_steps)
    kl = kl_term(
        found,
        loss_type="grpo" if geometric else trainer.loss_type,
        beta=float(trainer.beta),
        corrected=bool(getattr(trainer.args, "use_bias_correction_kl", False)) and not geometric,
        norm=_normalizer(trainer, inputs, accumulation),
    )
    if kl is not None:
        terms["kl_loss"] = kl
    whole = trainer.top_entropy_quantile >= 1.0  # otherwise the bonus acts on tokens that are not known here
    if coefficient and whole and found.entropies is not None:
        mean = (found.entropies * found.mask).sum() / found.mask.sum().clamp(min=1.0)
        terms["entropy_loss"] = -coefficient * mean / accumulation
    if auxiliary is not None:
        terms["auxiliary_loss"] = trainer.router_aux_loss_coef * auxiliary.detach() / accumulation
    return terms, (kl is not None or trainer.beta == 0.0) and (whole or not coefficient)


def entropy_coefficient(trainer: Trainer) -> float:
    """The coefficient that the coming loss call applies; the adaptive one is off above its target."""
    if not getattr(trainer, "_entropy_bonus_enabled", False):
        return 0.0
    if trainer.use_adaptive_entropy and trainer._last_world_entropy > trainer.args.entropy_target:
        return 0.0
    return float(trainer.entropy_coef)


def _normalizer(trainer: Trainer, inputs: Mapping[str, Tensor], accumulation: float) -> Normalizer:
    items = inputs.get("num_items_in_batch")
    if items is not None:
        window = accumulation / trainer.args.steps_per_generation
        items = items.clamp(min=1.0) / trainer.accelerator.num_processes * window
    return Normalizer(accumulation=accumulation, max_tokens=int(trainer.max_completion_length or 0), items=items)
