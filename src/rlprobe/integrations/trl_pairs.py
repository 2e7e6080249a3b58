"""What rlprobe looks at while a trainer that learns from given answers works: DPO, KTO and their kin.

Their batch has whole sequences and a mask of the completion. Where the model itself hands out log-probs of the labels
(trl 1.15 and later) they are kept by sample; older versions show texts and what the trainer logs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from rlprobe.integrations.trl_rollout import repetition
from rlprobe.integrations.trl_step import StepRecord
from rlprobe.integrations.trl_watch import Part, Watch
from rlprobe.recording.private_text import digest


@dataclass(frozen=True, slots=True, kw_only=True)
class _Batch:
    """One loss call on the host.

    Attributes:
        ids, prompt, completion: (B, T) token ids; which of them are prompt; which completion.
        label: (B,) "chosen" or "rejected".
        pair: (B,) which pair of the batch a sample belongs to; None where samples come alone.
        policy, reference, entropy: (B, T - 1) of the token that follows each position; None where unknown.
        totals: (B,) sum of the reference's log-probs where they were computed before training; None otherwise.
    """

    ids: np.ndarray
    prompt: np.ndarray
    completion: np.ndarray
    label: Sequence[str]
    pair: Sequence[int] | None
    policy: np.ndarray | None
    reference: np.ndarray | None
    entropy: np.ndarray | None
    totals: np.ndarray | None


class PairWatch(Watch):
    """Looks on at a DPO or KTO trainer."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]  # those of Watch
        self._batches: list[_Batch] = []
        self._inside = False
        self._policy: Tensor | None = None
        self._entropy: Tensor | None = None
        self._reference: Tensor | None = None
        self._width = 0

    def install(self) -> None:
        """Put the wrappers on the trainer instance, and look at what its models hand out."""
        self.wraps.around(self.trainer, "compute_loss", before=self.loss_begins, after=self.loss_computed)
        for model in (self.trainer.model, getattr(self.trainer, "ref_model", None)):
            if model is not None:
                self.wraps.listen(model, self.forwarded)
        super().install()

    def loss_begins(self, _: object, inputs: Mapping[str, object], *__: object, **___: object) -> None:
        """The loss begins: forget the last batch's log-probs."""
        ids = inputs.get("input_ids")
        self._inside = self.training and isinstance(ids, Tensor)
        self._width = ids.shape[1] if isinstance(ids, Tensor) else 0
        self._policy = self._entropy = self._reference = None

    def forwarded(self, _: object, __: object, output: object) -> None:
        """A model answered: the policy with gradients; then, without, KTO's mismatched pairs and last the reference."""
        found = getattr(output, "log_probs", None)
        if not self._inside or not isinstance(found, Tensor):
            return
        if torch.is_grad_enabled():
            entropy = getattr(output, "entropy", None)
            self._policy, self._entropy = found.detach(), entropy.detach() if isinstance(entropy, Tensor) else None
        elif self._policy is not None:
            self._reference = found.detach()

    def loss_computed(
        self, _: object, __: object, ___: object, inputs: dict[str, object], *rest: object, **more: object
    ) -> None:
        """The loss is there: keep the batch."""
        if not self._inside:
            return
        self._inside = False
        found = self._read(inputs)
        if found is not None:
            self._batches.append(found)

    def samples(self, record: StepRecord) -> list[Part]:
        """The samples that the step was trained on."""
        batches, self._batches = self._batches, []
        parts, start, pairs = [], 0, 0
        for batch in batches:
            parts.append(self._rows(batch, record.number, start, pairs))
            start += len(batch.ids)
            pairs += len(batch.ids) if batch.pair is None else len(batch.ids) // 2
        return parts

    def _read(self, inputs: Mapping[str, object]) -> _Batch | None:
        ids, mask, attention = (inputs.get(name) for name in ("input_ids", "completion_mask", "attention_mask"))
        if not (isinstance(ids, Tensor) and isinstance(mask, Tensor) and isinstance(attention, Tensor)):
            return None
        words, pair, totals = _labels(inputs, len(ids))
        return _Batch(
            ids=_host(ids),
            prompt=_host(attention.bool() & ~mask.bool()),
            completion=_host(mask.bool()),
            label=words,
            pair=pair,
            policy=self._of_width(self._policy),
            reference=self._of_width(self._reference),
            entropy=self._of_width(self._entropy),
            totals=totals,
        )

    def _of_width(self, values: Tensor | None) -> np.ndarray | None:
        """(B, T - 1) of the real tokens; adapters may put virtual ones before them."""
        return None if values is None else _host(values[:, -(self._width - 1) :].float())

    def _rows(self, batch: _Batch, step: int, start: int, pairs: int) -> Part:
        count = len(batch.ids)
        first = self._first(count, start)
        completions = [line[keep] for line, keep in zip(batch.ids, batch.completion, strict=True)]
        prompts = self.decode([line[keep].tolist() for line, keep in zip(batch.ids, batch.prompt, strict=True)])
        tokens = batch.completion.sum(axis=1)
        out: dict[str, list[object]] = {
            "split": ["train"] * count,
            "sample": list(range(first, first + count)),
            "prompt": list(prompts),
            "prompt_id": [digest(text) for text in prompts],
            "completion": list(self.decode([each.tolist() for each in completions])),
            "preference": list(batch.label),
            "prompt_tokens": [int(each) for each in batch.prompt.sum(axis=1)],
            "completion_tokens": [int(each) for each in tokens],
            "repetition": [repetition(each.tolist()) for each in completions],
        }
        if batch.pair is not None:
            ahead = self._first(count // 2, pairs)
            out["group"] = [f"{step}/{ahead + place}" for place in batch.pair]
        return out | self._numbers(batch, tokens, completions)

    def _numbers(self, batch: _Batch, tokens: np.ndarray, completions: Sequence[np.ndarray]) -> dict[str, list[object]]:
        """What the models say of each sample, a token in the mean; and the reward that the loss makes of it."""
        out: dict[str, list[object]] = {}
        keep, divisor = batch.completion[:, 1:], np.maximum(tokens, 1)
        sums = {
            name: np.where(keep, values, 0.0).sum(axis=1)
            for name, values in (
                ("logprob", batch.policy),
                ("reference_logprob", batch.reference),
                ("entropy", batch.entropy),
            )
            if values is not None
        }
        if batch.totals is not None:
            sums["reference_logprob"] = batch.totals
        for name, values in sums.items():
            out[name] = (values / divisor).tolist()
        if {"logprob", "reference_logprob"} <= sums.keys() and (
            beta := getattr(self.trainer, "beta", None)
        ) is not None:
            out["implicit_reward"] = (float(beta) * (sums["logprob"] - sums["reference_logprob"])).tolist()
        if self.with_tokens:
            out["token_ids"] = [np.asarray(each, dtype=np.int32) for each in completions]
            for name, values in (("token_logprobs", batch.policy), ("token_reference_logprobs", batch.reference)):
                if values is not None:
                    out[name] = [line[here].astype(np.float16) for line, here in zip(values, keep, strict=True)]
        return out


def _labels(inputs: Mapping[str, object], count: int) -> tuple[list[str], list[int] | None, np.ndarray | None]:
    """What each sample is, its pair, and its reference's log-prob where that was computed before training."""
    labels = inputs.get("label")
    if labels is not None:
        chosen = labels.tolist() if isinstance(labels, Tensor) else list(labels)  # type: ignore[call-overload]  # a list otherwise
        totals = inputs.get("ref_logps")
        known = _host(totals.float()) if isinstance(totals, Tensor) else None
        return ["chosen" if each else "rejected" for each in chosen], None, known
    half = count // 2
    given = [inputs.get(name) for name in ("ref_chosen_logps", "ref_rejected_logps")]
    parts = [_host(each.float()) for each in given if isinstance(each, Tensor)]
    words = ["chosen"] * half + ["rejected"] * half
    return words, [*range(half), *range(half)], np.concatenate(parts) if len(parts) == 2 else None


def _host(values: Tensor) -> np.ndarray:
    host: np.ndarray = values.detach().cpu().numpy()
    return host
