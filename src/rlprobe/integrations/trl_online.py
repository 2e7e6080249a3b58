"""What rlprobe looks at while a trainer that prefers one of two own completions works: Online DPO.

One training_step generates two completions a prompt, scores them, and learns from the pair. Completion i and i + B
belong to prompt i of B.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np
from torch import Tensor

from rlprobe.integrations.trl_images import prompt_ids
from rlprobe.integrations.trl_rollout import repetition
from rlprobe.integrations.trl_step import StepRecord
from rlprobe.integrations.trl_texts import as_json, mismatched, received_text, shown
from rlprobe.integrations.trl_trainer import Trainer
from rlprobe.integrations.trl_watch import Part, Watch
from rlprobe.integrations.trl_wrapping import RewardWatch, watched


@dataclass(slots=True, kw_only=True)
class _Turn:
    """One training_step: 2B completions of B prompts, arrays (2B, T)."""

    prompts: Sequence[object]
    completions: Sequence[object]
    ids: Sequence[Sequence[int]]
    rewards: np.ndarray
    watch: RewardWatch
    mask: np.ndarray | None = None
    prompt_tokens: np.ndarray | None = None
    images: Sequence[object] = ()  # (2B,) one a completion where prompts bring one
    passes: list[np.ndarray] = field(default_factory=list)  # log-probs of the policy, then of the reference


class OnlineWatch(Watch):
    """Looks on at an OnlineDPOTrainer."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]  # those of Watch
        self._turns: list[_Turn] = []
        self._passes: list[np.ndarray] = []
        self._masks: tuple[np.ndarray, np.ndarray] | None = None
        self._rewards = RewardWatch()
        self._names: list[str] = []
        self._eos = ended_by(self.trainer)

    def install(self) -> None:
        """Put the wrappers on the trainer instance."""
        trainer, around = self.trainer, self.wraps.around
        functions = getattr(trainer, "reward_funcs", None) or []
        names = [str(getattr(each, "__name__", type(each).__name__)) for each in functions]
        self._names = names
        if functions:
            wrapped = [
                watched(each, name, self._rewards, self.guard) for each, name in zip(functions, names, strict=True)
            ]
            self.wraps.replace(trainer, "reward_funcs", wrapped)
        around(trainer, "_generate", before=self.turn_begins, after=self.generated)
        around(trainer, "_forward", after=self.forwarded)
        around(trainer, "_calculate_rewards_from_functions", before=self.rewards_begin, after=self.rewarded)
        super().install()

    def turn_begins(self, *_: object, **__: object) -> float:
        """Generation begins: forget the last turn."""
        self._passes, self._masks = [], None
        return time.perf_counter()

    def generated(self, started: float, *_: object, **__: object) -> None:
        """The completions are there."""
        self._spend("generation_seconds", started)

    def forwarded(
        self,
        _: object,
        result: Tensor,
        __: object,
        ___: object,
        prompt_mask: Tensor,
        ____: object,
        mask: Tensor,
        *rest: object,
        **more: object,
    ) -> None:
        """Log-probs of every completion token: first the policy's, then the reference's."""
        self._passes.append(result.detach().float().cpu().numpy())
        if self._masks is None:
            self._masks = (mask.bool().cpu().numpy(), prompt_mask.sum(-1).cpu().numpy())

    def rewards_begin(self, *_: object, **__: object) -> float:
        """The reward functions are about to be called."""
        self._rewards.clear()
        return time.perf_counter()

    def rewarded(
        self,
        started: float,
        result: Tensor,
        prompts: Sequence[object],
        completions: Sequence[object],
        completion_ids_list: Sequence[Sequence[int]],
        *,
        image: Sequence[object] = (),
        **_: object,
    ) -> None:
        """The reward functions answered: what this turn is made of is known."""
        self._spend("reward_seconds", started)
        mask, prompt_tokens = self._masks or (None, None)
        self._turns.append(
            _Turn(
                prompts=list(prompts),
                completions=list(completions),
                ids=completion_ids_list,
                rewards=result.detach().float().cpu().double().numpy(),
                watch=self._copied(),
                mask=mask,
                prompt_tokens=prompt_tokens,
                images=list(image) if len(image) == len(prompts) else [],
                passes=list(self._passes),
            )
        )

    def metrics(self, record: StepRecord, raw: dict[str, float]) -> dict[str, float]:
        """The trainer's own numbers, and the divergence a token."""
        out = super().metrics(record, raw)
        known = [turn for turn in self._turns if turn.mask is not None and len(turn.passes) == 2]
        if known:
            gaps = np.concatenate([(turn.passes[0] - turn.passes[1])[turn.mask] for turn in known])
            out["kl_mean"] = float(gaps.mean())
            out["logprob_mean"] = float(np.concatenate([turn.passes[0][turn.mask] for turn in known]).mean())
        for name in self._names:
            seconds = [turn.watch.seconds[name] for turn in self._turns if name in turn.watch.seconds]
            if seconds:
                out[f"reward_function_seconds/{name}"] = sum(seconds)
        return out

    def samples(self, record: StepRecord) -> list[Part]:
        """Both completions of every prompt."""
        turns, self._turns = self._turns, []
        starts = accumulate((len(turn.ids) for turn in turns), initial=0)
        return [self._rows(turn, record.number, start) for turn, start in zip(turns, starts, strict=False)]

    def _copied(self) -> RewardWatch:
        copy = RewardWatch()
        watch = self._rewards
        copy.received, copy.rewards = dict(watch.received), dict(watch.rewards)
        copy.missing, copy.seconds = dict(watch.missing), dict(watch.seconds)
        return copy

    def _rows(self, turn: _Turn, step: int, start: int) -> Part:
        count = len(turn.ids)
        half, first = count // 2, self._first(count, start)
        kept = self._kept(turn)
        decoded = self.decode(kept)
        better = turn.rewards[:half] >= turn.rewards[half:]
        prompts = [shown(prompt) for prompt in turn.prompts]
        out: dict[str, list[object]] = {
            "split": ["train"] * count,
            "group": [f"{step}/{(first // 2) + place % half}" for place in range(count)],
            "sample": list(range(first, first + count)),
            "prompt": list(prompts),
            "prompt_id": list(prompt_ids(prompts, [[each] for each in turn.images] or [[]] * count)),
            "completion": list(decoded),
            "reward": turn.rewards.tolist(),
            "preference": ["chosen" if flag else "rejected" for flag in (*better, *~better)],
            **ending_columns(kept, self._eos),
        }
        if turn.prompt_tokens is not None:
            out["prompt_tokens"] = [int(each) for each in turn.prompt_tokens]
        if not all(isinstance(prompt, str) for prompt in turn.prompts):
            out["prompt_messages"] = [as_json(prompt) for prompt in turn.prompts]
            out["completion_messages"] = [as_json(completion) for completion in turn.completions]
        for name, given in turn.watch.rewards.items():
            if len(given) == count:
                out[f"reward/{name}"] = list(given)
        for name, received in turn.watch.received.items():
            wrong = list(map(mismatched, received, decoded))
            out[f"reward_text/{name}"] = [
                received_text(text) if bad else None for text, bad in zip(received, wrong, strict=True)
            ]
        if turn.mask is not None and len(turn.passes) == 2:
            policy, reference = turn.passes
            return out | number_columns(policy, reference, turn.mask, kept, with_tokens=self.with_tokens)
        return out | ({"token_ids": _packed(kept)} if self.with_tokens else {})

    def _kept(self, turn: _Turn) -> list[list[int]]:
        """Each completion without what fills it up."""
        if turn.mask is None:
            return [list(ids) for ids in turn.ids]
        return [
            [one for one, keep in zip(ids, line, strict=True) if keep]
            for ids, line in zip(turn.ids, turn.mask, strict=True)
        ]


def ending_columns(kept: Sequence[Sequence[int]], eos: frozenset[int]) -> dict[str, list[object]]:
    """How each completion ended, as sample columns.

    Args:
        kept: (B,) token ids of each completion.
        eos: token ids that end one.
    """
    ended = [bool(eos.intersection(ids)) for ids in kept]
    return {
        "completion_tokens": [len(ids) for ids in kept],
        "truncated": [not flag for flag in ended],
        "stop_reason": ["eos" if flag else "length" for flag in ended],
        "repetition": [repetition(ids) for ids in kept],
    }


def number_columns(
    policy: np.ndarray, reference: np.ndarray, mask: np.ndarray, kept: Sequence[Sequence[int]], *, with_tokens: bool
) -> dict[str, list[object]]:
    """What the models say of each sample, a token in the mean, as sample columns.

    Args:
        policy, reference: (B, T) log-probs.
        mask: (B, T) which of them are of the completion.
        kept: (B,) token ids of each completion.
        with_tokens: whether per-token arrays are kept.
    """
    out: dict[str, list[object]] = {}
    tokens = np.maximum(mask.sum(axis=1), 1)
    for name, values in (("logprob", policy), ("reference_logprob", reference), ("kl", policy - reference)):
        out[name] = (np.where(mask, values, 0.0).sum(axis=1) / tokens).tolist()
    out["kl_estimator"] = ["k1"] * len(kept)
    if with_tokens:
        out["token_ids"] = _packed(kept)
        for name, values in (("token_logprobs", policy), ("token_reference_logprobs", reference)):
            out[name] = [line[keep].astype(np.float16) for line, keep in zip(values, mask, strict=True)]
    return out


def _packed(kept: Sequence[Sequence[int]]) -> list[object]:
    return [np.asarray(ids, dtype=np.int32) for ids in kept]


def ended_by(trainer: Trainer) -> frozenset[int]:
    """The token ids that end a completion."""
    tokenizer = getattr(trainer, "_tokenizer", None) or trainer.processing_class
    given = getattr(trainer, "eos_token_ids", None) or [getattr(tokenizer, "eos_token_id", None)]
    return frozenset(int(each) for each in given if each is not None)
