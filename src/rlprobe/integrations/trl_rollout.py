"""One rollout of a TRL trainer on the host: texts, rewards and advantages of every sample, in generation order."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from rlprobe.integrations.group_statistics import (
    duplicate_fraction,
    length_reward_correlation,
    mixed_prompt_fraction,
    repetition,
    reward_statistics,
)
from rlprobe.integrations.trl_texts import as_json, mismatched, received_text, shown
from rlprobe.recording.run import BoolArray, FloatArray


@dataclass(slots=True, kw_only=True)
class Scored:
    """What a trainer's reward phase was handed and what came of it.

    Attributes:
        prompts, completions: as handed to the reward phase, one a local sample.
        token_ids: generated token ids, one list a local sample.
        rewards: (world samples, functions); NaN where a function gave none.
        received: reward function -> the completions that it really received.
        missing: reward function -> (n,) whether it returned None; of the functions that were watched.
        seconds: reward function -> seconds that it took.
    """

    prompts: Sequence[object]
    completions: Sequence[object]
    token_ids: Sequence[Sequence[int]]
    rewards: FloatArray
    received: Mapping[str, Sequence[object]] = field(default_factory=dict)
    missing: Mapping[str, BoolArray] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What of a trainer's set-up the rollouts are read by.

    Attributes:
        names: reward functions in column order.
        weights: (functions,) their weights.
        eos, pad: token ids that end a completion by itself; that fill it up.
        max_tokens: length cap of a completion; 0 when there is none.
        normalize_each: whether each function is normalised in its group before they are summed.
        reward_range: what RLOO clips the total reward to before it takes the KL off; None when it does not.
    """

    names: tuple[str, ...]
    weights: FloatArray
    eos: frozenset[int]
    pad: int | None
    max_tokens: int
    normalize_each: bool
    reward_range: tuple[float, float] | None


class Rollout:
    """One rollout.

    Args:
        number: counts rollouts of the session.
        step: step in which it was generated.
        split: "train" or "evaluation".
        size: samples a group.
        scored: the reward phase.
        rules: the trainer's set-up.
        decoded: texts of the token ids, decoded apart from the trainer.
        advantages: (n,) local advantages as they go into the loss.
        prompt_tokens: (n,) prompt lengths.
    """

    def __init__(
        self,
        *,
        number: int,
        step: int,
        split: str,
        size: int,
        scored: Scored,
        rules: Rules,
        decoded: Sequence[str],
        advantages: FloatArray,
        prompt_tokens: FloatArray,
    ) -> None:
        self.number, self.step, self.split, self.size = number, step, split, size
        self.scored, self.rules = scored, rules
        self.decoded = list(decoded)
        self.advantages = advantages
        self.prompt_tokens = prompt_tokens
        self.prompts = [shown(prompt) for prompt in scored.prompts]
        self.lengths = np.array([len(ids) for ids in scored.token_ids], dtype=np.float64)
        self.totals = _totals(scored.rewards, rules.weights)
        self.local = self.totals[: len(self.prompts)]
        self.penalty: FloatArray | None = None  # RLOO: what the KL penalty takes off each local reward
        self.logged_advantages: FloatArray | None = None
        self.extra: dict[str, list[object]] = {}
        self.recorded = np.zeros(len(self.prompts), dtype=bool)
        self.repetition = np.array([repetition(list(ids)) for ids in scored.token_ids], dtype=np.float64)
        self.stop = [self._stop_reason(ids) for ids in scored.token_ids]

    def statistics(self, *, low: float, high: float) -> dict[str, float]:
        """Step metrics that need every sample of the rollout; low and high are the run's extreme rewards so far."""
        out = reward_statistics(self.totals, self.size, low=low, high=high)
        out |= self._component_statistics()
        out |= self._text_statistics()
        out["reward_nonfinite_count"] = float(self._nonfinite())
        out["reward_missing_count"] = float(self._all_missing())
        out["samples_count"] = float(len(self.totals))
        out["group_size_mean"] = out["group_size_min"] = float(self.size)
        out |= self._group_statistics()
        if self.penalty is not None:
            out["reward_with_kl_mean"] = float(np.nanmean(self._clipped() - self.penalty))
        return out

    def rows(self, which: Sequence[int]) -> dict[str, list[object]]:
        """Sample columns of the chosen local rows, without what only the loss knows."""
        scored, number = self.scored, self.number
        out: dict[str, list[object]] = {
            "split": [self.split for _ in which],
            "rollout": [number for _ in which],
            "rollout_step": [self.step for _ in which],
            "group": [f"{number}/{row // self.size}" for row in which],
            "index": [int(row) for row in which],
            "prompt_id": [hashlib.sha256(self.prompts[row].encode()).hexdigest()[:16] for row in which],
            "prompt": [self.prompts[row] for row in which],
            "completion": [self.decoded[row] for row in which],
            "reward": [float(self.local[row]) for row in which],
            "advantage": [float(self.advantages[row]) for row in which],
            "prompt_tokens": [int(self.prompt_tokens[row]) for row in which],
            "completion_tokens": [int(self.lengths[row]) for row in which],
            "stop_reason": [self.stop[row] for row in which],
            "truncated": [self.stop[row] in ("length", "other") for row in which],
            "repetition": [float(self.repetition[row]) for row in which],
        }
        if not all(isinstance(prompt, str) for prompt in scored.prompts):
            out["prompt_messages"] = [as_json(scored.prompts[row]) for row in which]
            out["completion_messages"] = [as_json(scored.completions[row]) for row in which]
        for column, name in enumerate(self.rules.names):
            out[f"reward_component/{name}"] = [self._component(row, column, name) for row in which]
        for name, received in scored.received.items():
            differs = [mismatched(received[row], self.decoded[row]) for row in which]
            if any(differs):
                texts = (received_text(received[row]) for row in which)
                out[f"received/{name}"] = [text if bad else None for text, bad in zip(texts, differs, strict=True)]
        if self.logged_advantages is not None:
            out["advantage_logged"] = [float(self.logged_advantages[row]) for row in which]
        for name, values in self.extra.items():
            out[f"extra/{name}"] = [_cell(values[row]) for row in which]
        return out

    def _component(self, row: int, column: int, name: str) -> float | None:
        """One function's reward of one sample; None where it returned None."""
        missing = self.scored.missing.get(name)
        return None if missing is not None and missing[row] else float(self.scored.rewards[row, column])

    def _component_statistics(self) -> dict[str, float]:
        out = {}
        for column, name in enumerate(self.rules.names):
            values = self.scored.rewards[:, column]
            known = values[~np.isnan(values)]
            if len(known):
                out[f"reward_component_mean/{name}"] = float(known.mean())
            elif not self._said_none(name):
                out[f"reward_component_mean/{name}"] = float("nan")
            if len(known) > 1:
                out[f"reward_component_std/{name}"] = float(known.std(ddof=1))
        for name, seconds in self.scored.seconds.items():
            out[f"reward_function_seconds/{name}"] = seconds
        return out

    def _said_none(self, name: str) -> bool:
        """Whether a function returned None for every local sample: it had nothing to say, which is no NaN."""
        missing = self.scored.missing.get(name)
        return missing is not None and bool(missing.all())

    def _text_statistics(self) -> dict[str, float]:
        blank = [not text.strip() for text in self.decoded]
        out = {"empty_fraction": float(np.mean(blank)), "repetition_fraction": float(self.repetition.mean())}
        out["prompt_tokens_mean"] = float(self.prompt_tokens.mean())
        if len(self.lengths) > 1:
            out["completion_tokens_std"] = float(self.lengths.std(ddof=1))
        by_function = [
            np.mean([mismatched(text, decoded) for text, decoded in zip(received, self.decoded, strict=True)])
            for received in (self.scored.received or {"": self.scored.completions}).values()
        ]
        out["reward_text_mismatch_fraction"] = float(max(by_function))
        return out

    def _group_statistics(self) -> dict[str, float]:
        whole = len(self.prompts) // self.size * self.size  # groups that lie on this rank as a whole
        if whole == 0:
            return {}
        found = {
            "length_reward_correlation": length_reward_correlation(self.local[:whole], self.lengths[:whole], self.size),
            "duplicate_fraction": duplicate_fraction(self.decoded[:whole], self.size),
            "mixed_prompt_group_fraction": mixed_prompt_fraction(self.prompts[:whole], self.size),
        }
        return {name: value for name, value in found.items() if value is not None}

    def centring_rewards(self) -> FloatArray:
        """(n,) what the trainer centres: the total, the total less RLOO's KL, or the sum of normalised parts."""
        if self.penalty is not None:
            return self._clipped() - self.penalty
        if not self.rules.normalize_each:
            return self.local
        parts = self.scored.rewards[: len(self.prompts)].reshape(-1, self.size, len(self.rules.names))
        mean, std = np.nanmean(parts, axis=1, keepdims=True), np.nanstd(parts, axis=1, ddof=1, keepdims=True)
        return _totals(((parts - mean) / (std + 1e-4)).reshape(len(self.local), -1), self.rules.weights)

    def _clipped(self) -> FloatArray:
        return self.local if self.rules.reward_range is None else np.clip(self.local, *self.rules.reward_range)

    def _all_missing(self) -> int:
        """Samples for which every function returned None; NaN counts as None where a function was not watched."""
        local = self.scored.rewards[: len(self.prompts)]
        flags = [
            self.scored.missing.get(name, np.isnan(local[:, column])) for column, name in enumerate(self.rules.names)
        ]
        return int(np.all(flags, axis=0).sum()) if flags else 0

    def _nonfinite(self) -> int:
        """Samples with an infinite reward or a NaN that a function really returned, which TRL's sum leaves out."""
        local = self.scored.rewards[: len(self.prompts)]
        bad = np.isinf(local).any(axis=1)
        for column, name in enumerate(self.rules.names):
            if (missing := self.scored.missing.get(name)) is not None:
                bad |= np.isnan(local[:, column]) & ~missing
        return int(bad.sum())

    def _stop_reason(self, ids: Sequence[int]) -> str:
        last = ids[-1] if len(ids) else None
        if last in self.rules.eos:
            return "eos"
        if self.rules.max_tokens and len(ids) >= self.rules.max_tokens:
            return "length"
        return "pad" if last is not None and last == self.rules.pad else "other"


def _totals(rewards: FloatArray, weights: FloatArray) -> FloatArray:
    """(n,) weighted sum over functions, NaN where every function gave none."""
    totals: FloatArray = np.nansum(rewards * weights[None, :], axis=1)
    totals[np.isnan(rewards).all(axis=1)] = np.nan
    return totals


def _cell(value: object) -> object:
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)[:1000]
