"""Token-level facts of one loss call, reduced on the device to one row a sample and copied to the host once.

All tensors are (B, T): B samples, T completion positions, right-padded; log-probs are natural logs at the sampling
temperature. Nothing here needs a gradient or draws a random number.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from rlprobe.recording.run import FloatArray, IntArray

BUCKETS = 4  # relative token positions of kl_position_fraction/0..3
CHANNELS = (
    "token_logprobs",
    "token_entropy",
    "token_old_logprobs",
    "token_reference_logprobs",
    "token_kl",
    "token_ratios",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LossInputs:
    """What one call of the loss works on.

    Attributes:
        logprobs, entropies: (B, T) of the policy now.
        mask: (B, T) tokens that the loss counts.
        advantages: (B,) or (B, T) as used by the loss.
        old, reference, sampler: (B, T) log-probs, None where the trainer has none.
        index: (B,) row of the rollout that each sample came from; None when it was lost.
        level: what one importance ratio is of: "token", "sequence mean" or "sequence sum".
        clip_low, clip_high: the clip range is [1 - clip_low, 1 + clip_high].
    """

    logprobs: Tensor
    entropies: Tensor | None
    mask: Tensor
    advantages: Tensor
    old: Tensor | None
    reference: Tensor | None
    sampler: Tensor | None
    index: Tensor | None
    level: str
    clip_low: float
    clip_high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LossPass:
    """One loss call on the host.

    Attributes:
        columns: name -> (B,) float64. Sums run over the counted tokens of a sample; `tokens` is their count.
        terms: "kl_loss", "entropy_loss" as they entered the loss.
        token_arrays: channel -> (B, T) float16, only when asked for; the mask is their `tokens` first ones.
    """

    columns: Mapping[str, FloatArray]
    terms: Mapping[str, float]
    token_arrays: Mapping[str, np.ndarray]
    mask: np.ndarray | None

    @property
    def index(self) -> IntArray | None:
        """(B,) row of the rollout of each sample, None when it was lost."""
        return self.columns["index"].astype(np.int64) if "index" in self.columns else None


def loss_pass(inputs: LossInputs, terms: Mapping[str, Tensor], *, with_tokens: bool) -> LossPass:
    """Reduce one loss call to one row a sample, with one copy from the device. Call it under torch.no_grad."""
    tokens = _Tokens(inputs)
    columns = tokens.columns()
    names = tuple(columns)
    size = inputs.logprobs.shape[0]
    flat = torch.cat([torch.stack([columns[name].float() for name in names]).reshape(-1), *_scalars(terms)])
    host = flat.cpu().double().numpy()
    arrays, mask = tokens.arrays() if with_tokens else ({}, None)
    return LossPass(
        columns={name: host[row * size : (row + 1) * size] for row, name in enumerate(names)},
        terms=dict(zip(terms, host[len(names) * size :].tolist(), strict=True)),
        token_arrays=arrays,
        mask=mask,
    )


def _scalars(terms: Mapping[str, Tensor]) -> list[Tensor]:
    return [term.detach().reshape(1).float() for term in terms.values()]


class _Tokens:
    """The sums over tokens that one row of a sample needs."""

    def __init__(self, inputs: LossInputs) -> None:
        self.inputs = inputs
        self.keep = inputs.mask.bool()
        self.count = self.keep.sum(-1)
        self.logprobs = inputs.logprobs.detach().float()
        self.kl = None if inputs.reference is None else k3(self.logprobs, inputs.reference.float())
        self.ratio = None if inputs.old is None else self._ratio(self.logprobs - inputs.old.float())

    def columns(self) -> dict[str, Tensor]:
        inputs = self.inputs
        out = {"tokens": self.count, "advantage": self._advantage(), "logprob": self._sum(self.logprobs)}
        out["nonfinite"] = (self.keep & ~torch.isfinite(self.logprobs)).sum(-1)
        if inputs.index is not None:
            out["index"] = inputs.index
        if inputs.entropies is not None:
            out["entropy"] = self._sum(inputs.entropies.detach().float())
        if inputs.old is not None:
            out["old_logprob"] = self._sum(inputs.old.float())
            out["kl_old"] = self._sum(k3(self.logprobs, inputs.old.float()))
        if self.ratio is not None:
            out |= self._ratio_columns(self.ratio, out["advantage"])
        if inputs.reference is not None and self.kl is not None:
            out["reference_logprob"] = self._sum(inputs.reference.float())
            out["kl"] = self._sum(self.kl)
            out["kl_max"] = self._extreme(self.kl, -torch.inf).amax(-1)
            out |= self._positions(self.kl)
        if inputs.sampler is not None:
            out |= self._sampler_columns(inputs.sampler.float())
        return out

    def arrays(self) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """The per-token channels as float16, and the mask of counted tokens."""
        inputs = self.inputs
        ratio = self.ratio if self.ratio is not None and self.ratio.shape == self.keep.shape else None
        found = (self.logprobs, inputs.entropies, inputs.old, inputs.reference, self.kl, ratio)
        here = {name: values.detach() for name, values in zip(CHANNELS, found, strict=True) if values is not None}
        stacked = torch.stack([values.to(torch.float16) for values in here.values()]).cpu().numpy()
        return dict(zip(here, stacked, strict=True)), self.keep.cpu().numpy()

    def _sum(self, values: Tensor) -> Tensor:
        """Sum over counted tokens; what lies under the mask may be NaN and does not leak."""
        return torch.where(self.keep, values, 0.0).sum(-1)

    def _extreme(self, values: Tensor, neutral: float) -> Tensor:
        return torch.where(self.keep, values, neutral)

    def _advantage(self) -> Tensor:
        advantages = self.inputs.advantages.detach().float()
        if advantages.dim() == 1:
            return advantages
        if advantages.shape[1] == 1:
            return advantages[:, 0]
        return self._sum(advantages) / self.count.clamp(min=1)

    def _ratio(self, log_ratio: Tensor) -> Tensor:
        """(B, T) or, for a ratio of whole sequences, (B, 1)."""
        if self.inputs.level == "token":
            return torch.exp(log_ratio)
        total = self._sum(log_ratio)
        return torch.exp(total / self.count.clamp(min=1) if self.inputs.level == "sequence mean" else total)[:, None]

    def _ratio_columns(self, ratio: Tensor, advantage: Tensor) -> dict[str, Tensor]:
        low = (ratio < 1 - self.inputs.clip_low) & (advantage[:, None] < 0)
        high = (ratio > 1 + self.inputs.clip_high) & (advantage[:, None] > 0)
        if ratio.shape != self.keep.shape:
            one = ratio[:, 0]
            return {"ratio": one, "ratio_max": one, "ratio_min": one, "clipped": (low | high)[:, 0]}
        return {
            "ratio": self._sum(ratio),
            "ratio_max": self._extreme(ratio, -torch.inf).amax(-1),
            "ratio_min": self._extreme(ratio, torch.inf).amin(-1),
            "clipped": ((low | high) & self.keep).sum(-1),
        }

    def _positions(self, kl: Tensor) -> dict[str, Tensor]:
        place = (torch.cumsum(self.keep, -1) - 1).clamp(min=0) * BUCKETS // self.count.clamp(min=1)[:, None]
        out = {}
        for bucket in range(BUCKETS):
            here = self.keep & (place == bucket)
            out[f"kl_{bucket}"] = torch.where(here, kl, 0.0).sum(-1)
            out[f"tokens_{bucket}"] = here.sum(-1)
        return out

    def _sampler_columns(self, sampler: Tensor) -> dict[str, Tensor]:
        """Sampler against trainer, over the tokens that the sampler scored (others are NaN)."""
        trainer = self.logprobs if self.inputs.old is None else self.inputs.old.float()
        scored = self.keep & ~torch.isnan(sampler)
        difference = torch.where(scored, (trainer - sampler).abs(), 0.0)
        return {
            "sampler_logprob": torch.where(scored, sampler, 0.0).sum(-1),
            "sampler_difference": difference.sum(-1),
            "sampler_difference_max": difference.amax(-1),
            "sampler_tokens": scored.sum(-1),
        }


def k3(logprobs: Tensor, other: Tensor) -> Tensor:
    """Per-token estimate of KL(policy || other) from samples of the policy; never negative.

    Source: Schulman 2020, Approximating KL divergence, estimator k3.
    """
    difference = other - logprobs
    return torch.exp(difference) - difference - 1


def kl_term(inputs: LossInputs, *, loss_type: str, beta: float, corrected: bool, norm: "Normalizer") -> Tensor | None:
    """The KL term of GRPO's loss, coefficient included, summed up as `loss_type` sums the loss.

    None where the loss has no KL term or its aggregation is not known here.
    """
    if beta == 0.0 or inputs.reference is None:
        return None
    kl = k3(inputs.logprobs.detach(), inputs.reference)
    if corrected and inputs.old is not None:
        kl = kl * _Tokens(inputs)._ratio(inputs.logprobs.detach() - inputs.old)
    mask = inputs.mask
    masked = torch.where(mask.bool(), kl, 0.0)
    if loss_type in ("grpo", "sapo"):
        total = (masked.sum(-1) / mask.sum(-1).clamp(min=1.0)).mean() / norm.accumulation
    elif loss_type == "bnpo":
        total = masked.sum() / mask.sum().clamp(min=1.0) / norm.accumulation
    elif loss_type == "dr_grpo":
        total = masked.sum() / (kl.shape[0] * norm.max_tokens) / norm.accumulation
    elif loss_type == "luspo":
        total = masked.sum(-1).mean() / norm.accumulation
    elif loss_type in ("cispo", "dapo", "vespo") and norm.items is not None:
        total = masked.sum() / norm.items
    else:
        return None
    return beta * total


@dataclass(frozen=True, slots=True, kw_only=True)
class Normalizer:
    """What a sum over tokens is divided by.

    Attributes:
        accumulation: gradient accumulation steps.
        max_tokens: length cap of a completion.
        items: tokens of one accumulation window on this process; None when the trainer does not count them.
    """

    accumulation: float
    max_tokens: int
    items: Tensor | None
