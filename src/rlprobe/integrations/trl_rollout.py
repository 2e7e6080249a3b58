"""One rollout of a TRL trainer on the host: texts, rewards and advantages of every sample, in generation order.

Statistics of groups and texts are not computed here: the recorder derives them from the rows, apart from training.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from rlprobe.integrations.trl_images import prompt_ids
from rlprobe.integrations.trl_texts import as_json, images, mismatched, received_text, shown, sizes
from rlprobe.integrations.trl_tokens import LossPass
from rlprobe.integrations.trl_trainer import Trainer
from rlprobe.recording.run import BoolArray, FloatArray

NGRAM = 4  # tokens of the n-grams whose repetition is counted
ROUNDING = 1e-6  # relative to the largest reward; float32 rewards differ by less than this from their own mean


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """What a trainer's reward phase was handed and what came of it.

    Attributes:
        prompts, completions: as handed to the reward phase, one a local sample.
        token_ids: generated token ids, one list a local sample.
        everyone: (samples of every rank, functions) rewards; NaN where a function gave none.
        first: row of the first local sample among them.
        received: reward function -> the completions that it really received.
        missing: reward function -> (n,) whether it returned None; of the functions that were watched.
        seconds: reward function -> seconds that it took.
    """

    prompts: Sequence[object]
    completions: Sequence[object]
    token_ids: Sequence[Sequence[int]]
    everyone: FloatArray
    first: int = 0
    received: Mapping[str, Sequence[object]] = field(default_factory=dict)
    missing: Mapping[str, BoolArray] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)

    @property
    def local(self) -> slice:
        """The local samples among every rank's."""
        return slice(self.first, self.first + len(self.prompts))

    @property
    def rewards(self) -> FloatArray:
        """(n, functions) rewards of the local samples."""
        return self.everyone[self.local]


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


@dataclass(slots=True, kw_only=True)
class Rollout:
    """One rollout, of this rank's samples.

    Attributes:
        number: counts rollouts of the session.
        step: step in which it was generated.
        split: "train" or "evaluation".
        size: samples a group; sample i of every rank's belongs to group i // size.
        scored: the reward phase.
        rules: the trainer's set-up.
        decoded: texts of the token ids, decoded apart from the trainer.
        advantages: (n,) as they go into the loss.
        logged_advantages: (n,) as the trainer's own table shows them; None when it does not.
        prompt_tokens: (n,) prompt lengths.
        penalty: (n,) what RLOO's KL takes off each reward; None for other algorithms.
        scoring: the tokens' log-probs when they were scored; None where every sample is trained on at once.
        own: the token ids that the model wrote, without what tools answered; None where there are no tools.
        extra: columns that reward functions logged.
    """

    number: int
    step: int
    split: str
    size: int
    scored: Scored
    rules: Rules
    decoded: Sequence[str]
    advantages: FloatArray
    prompt_tokens: FloatArray
    logged_advantages: FloatArray | None = None
    penalty: FloatArray | None = None
    scoring: LossPass | None = None
    own: Sequence[Sequence[int]] | None = None
    extra: dict[str, list[object]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.scored.prompts)

    @property
    def tokens(self) -> int:
        """Tokens of prompts and completions."""
        return sum(len(ids) for ids in self.scored.token_ids) + int(self.prompt_tokens.sum())

    def metrics(self) -> dict[str, float]:
        """Step metrics that the rows alone do not show."""
        scored = self.scored
        handed = scored.received or {"": scored.completions}
        wrong = [
            [mismatched(text, own) for text, own in zip(texts, self.decoded, strict=True)] for texts in handed.values()
        ]
        out = {"reward_text_mismatch_fraction": float(np.any(wrong, axis=0).mean())}
        out |= {f"reward_function_seconds/{name}": seconds for name, seconds in scored.seconds.items()}
        if len(scored.everyone) > len(self):  # groups lie on several ranks, and the rewards of all are known here
            out |= self._spread()
        if self.penalty is not None:
            out["reward_with_kl_mean"] = float(np.nanmean(self._clipped() - self.penalty))
        return out

    def _spread(self) -> dict[str, float]:
        """How the total reward spreads within the groups of every rank."""
        totals = _weighted(self.scored.everyone, self.rules.weights)
        groups = totals[: len(totals) // self.size * self.size].reshape(-1, self.size)
        many = (~np.isnan(groups)).sum(axis=1) > 1
        if not many.any():
            return {}
        return {"reward_std_group_mean": float(np.nanstd(groups[many], axis=1, ddof=1).mean())}

    def silent(self, name: str) -> bool:
        """Whether a function returned None for every sample: it had nothing to say, which is no NaN."""
        missing = self.scored.missing.get(name)
        return missing is not None and bool(missing.all())

    def centred(self) -> FloatArray:
        """(n,) what the trainer centres in each group to get advantages; 0 where the rest is rounding.

        NaN for samples without a reward, and for those of a group of which another rank holds what is needed.
        """
        rewards = self._centring_rewards()
        whole = len(rewards) // self.size * self.size
        groups = rewards[:whole].reshape(-1, self.size)
        known = ~np.isnan(groups)
        mean = np.nansum(groups, axis=1, keepdims=True) / np.maximum(known.sum(axis=1, keepdims=True), 1)
        if self.penalty is not None:  # known of the local samples alone
            here = np.zeros(len(rewards), dtype=bool)
            here[self.scored.local] = True
            mean[~here[:whole].reshape(-1, self.size).all(axis=1)] = np.nan
        out = np.full(len(rewards), np.nan)
        out[:whole] = (groups - mean).ravel()
        rounding = ROUNDING * np.nanmax(np.abs(rewards), initial=1.0)
        return np.where(np.abs(out) <= rounding, 0.0, out)[self.scored.local]

    def rows(self) -> dict[str, list[object]]:
        """Sample columns of every sample, without what only the loss knows."""
        scored, count, number = self.scored, len(self), self.number
        own = scored.token_ids if self.own is None else self.own
        stops = [self._stop_reason(ids) for ids in scored.token_ids]
        prompts = [shown(prompt) for prompt in scored.prompts]
        out: dict[str, list[object]] = {
            "split": [self.split] * count,
            "generation": [str(number)] * count,
            "group": [f"{number}/{(scored.first + row) // self.size}" for row in range(count)],
            "group_size": [self.size] * count,
            "sample": list(range(scored.first, scored.first + count)),
            "prompt": list(prompts),
            "completion": list(self.decoded),
            "reward": self._totals_or_none(),
            "advantage": self.advantages.tolist(),
            "prompt_tokens": [int(tokens) for tokens in self.prompt_tokens],
            "completion_tokens": [len(ids) for ids in own],
            "stop_reason": list(stops),
            "truncated": [stop in ("length", "other") for stop in stops],
            "repetition": [repetition(ids) for ids in own],
        }
        if self.own is not None:
            out["tool_tokens"] = [len(ids) - len(mine) for ids, mine in zip(scored.token_ids, own, strict=True)]
        out["prompt_id"] = list(prompt_ids(prompts, [images(prompt) for prompt in scored.prompts]))
        if not all(isinstance(prompt, str) for prompt in scored.prompts):
            out["prompt_messages"] = [as_json(prompt) for prompt in scored.prompts]
            out["completion_messages"] = [as_json(completion) for completion in scored.completions]
            if any(seen := [sizes(prompt) for prompt in scored.prompts]):
                out["images"] = list(seen)
        for place, name in enumerate(self.rules.names):
            missing = scored.missing.get(name, np.zeros(count, dtype=bool))
            values = zip(scored.rewards[:, place].tolist(), missing, strict=True)
            out[f"reward/{name}"] = [None if none else value for value, none in values]
        for name, received in scored.received.items():
            wrong = list(map(mismatched, received, self.decoded))
            out[f"reward_text/{name}"] = [
                received_text(text) if bad else None for text, bad in zip(received, wrong, strict=True)
            ]
        if self.logged_advantages is not None:
            out["advantage_logged"] = self.logged_advantages.tolist()
        for name, column in self.extra.items():
            out[f"extra/{name}"] = [_cell(value) for value in column]
        return out

    def _totals(self) -> FloatArray:
        return _weighted(self.scored.rewards, self.rules.weights)

    def _totals_or_none(self) -> list[object]:
        """Total rewards; None where every function returned None, NaN where one returned NaN, which TRL leaves out."""
        scored, names = self.scored, self.rules.names
        given_nan, all_missing = np.zeros(len(self), dtype=bool), np.ones(len(self), dtype=bool)
        for column, name in enumerate(names):
            nan = np.isnan(scored.rewards[:, column])
            missing = scored.missing.get(name, nan)
            given_nan |= nan & ~missing
            all_missing &= missing
        totals = np.where(given_nan, np.nan, self._totals()).tolist()
        return [None if missing else total for total, missing in zip(totals, all_missing, strict=True)]

    def _clipped(self) -> FloatArray:
        limits = self.rules.reward_range
        return self._totals() if limits is None else np.clip(self._totals(), *limits)

    def _centring_rewards(self) -> FloatArray:
        """(every rank's samples,) the total, the total less RLOO's KL, or the sum of parts normalised in their group.

        NaN for what only another rank knows.
        """
        everyone, weights = self.scored.everyone, self.rules.weights
        if self.penalty is not None:
            out = np.full(len(everyone), np.nan)
            out[self.scored.local] = self._clipped() - self.penalty
            return out
        if not self.rules.normalize_each or len(everyone) % self.size:
            return _weighted(everyone, weights)
        parts = everyone.reshape(-1, self.size, len(self.rules.names))
        mean, std = np.nanmean(parts, axis=1, keepdims=True), np.nanstd(parts, axis=1, ddof=1, keepdims=True)
        return _weighted(((parts - mean) / (std + 1e-4)).reshape(len(everyone), -1), weights)

    def _stop_reason(self, ids: Sequence[int]) -> str:
        last = ids[-1] if len(ids) else None
        if last in self.rules.eos:
            return "eos"
        if self.rules.max_tokens and len(ids) >= self.rules.max_tokens:
            return "length"
        return "pad" if last is not None and last == self.rules.pad else "other"


def rules_of(trainer: Trainer) -> Rules:
    """What of a trainer's set-up its rollouts are read by."""
    tokenizer = getattr(trainer, "_tokenizer", None) or getattr(trainer, "processing_class", None)
    weights: FloatArray = trainer.reward_weights.detach().float().cpu().double().numpy()
    limits = getattr(trainer, "reward_clip_range", None)
    return Rules(
        names=distinct([str(name) for name in getattr(trainer, "reward_func_names", ())]),
        weights=weights,
        eos=frozenset(int(i) for i in getattr(trainer, "eos_token_ids", None) or ()),
        pad=getattr(tokenizer, "pad_token_id", None),
        max_tokens=int(getattr(trainer, "max_completion_length", 0) or 0),
        normalize_each=getattr(trainer, "multi_objective_aggregation", "") == "normalize_then_sum",
        reward_range=(float(limits[0]), float(limits[1])) if limits else None,
    )


def distinct(names: Sequence[str]) -> tuple[str, ...]:
    """The names, the second of a kind with #2 behind it: two lambdas are two functions."""
    return tuple(
        name if (nth := names[: place + 1].count(name)) == 1 else f"{name}#{nth}" for place, name in enumerate(names)
    )


def repetition(ids: Sequence[int]) -> float:
    """Fraction of 4-grams of a token sequence that occurred in it before; 0 for one too short to have any."""
    total = len(ids) - NGRAM + 1
    if total < 1:
        return 0.0
    return 1 - len(set(zip(*(ids[start:] for start in range(NGRAM)), strict=False))) / total


def _weighted(rewards: FloatArray, weights: FloatArray) -> FloatArray:
    """(n,) weighted sum over functions, NaN where every function gave none."""
    totals: FloatArray = np.nansum(rewards * weights[None, :], axis=1)
    totals[np.isnan(rewards).all(axis=1)] = np.nan
    return totals


def _cell(value: object) -> object:
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)[:1000]
