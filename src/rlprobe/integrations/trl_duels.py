"""What rlprobe looks at while a trainer sets a completion of the policy against an opponent's: XPO and Nash-MD.

XPO's opponent is the reference, Nash-MD's a mixture of both. trl 1.0 to 1.12 have these trainers, and later ones none;
their training_step calls _generate_completions, _compute_rewards (not where a judge decides) and _compute_logprobs.
A sample row is a completion of the policy: the opponent's would count in the means of the step as if it were its own.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from torch import Tensor

from rlprobe.integrations.trl_online import ended_by, ending_columns, number_columns
from rlprobe.integrations.trl_step import StepRecord
from rlprobe.integrations.trl_texts import as_json, shown
from rlprobe.integrations.trl_watch import Part, Watch
from rlprobe.recording.private_text import digest


@dataclass(frozen=True, slots=True, kw_only=True)
class _Turn:
    """One training_step: B prompts, arrays (B, T) of the policy's completions."""

    prompts: Sequence[object]
    prompt_tokens: np.ndarray
    ids: np.ndarray
    mask: np.ndarray
    policy: np.ndarray
    reference: np.ndarray
    scores: tuple[np.ndarray, np.ndarray] | None  # (B,) the policy's, the opponent's


class DuelWatch(Watch):
    """Looks on at an XPOTrainer or a NashMDTrainer."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]  # those of Watch
        self._turns: list[_Turn] = []
        self._scores: tuple[np.ndarray, np.ndarray] | None = None
        self._eos = ended_by(self.trainer)

    def install(self) -> None:
        """Put the wrappers on the trainer instance."""
        around = self.wraps.around
        around(self.trainer, "_generate_completions", before=self.turn_begins, after=self.generated)
        around(self.trainer, "_compute_rewards", before=self.clock, after=self.rewarded)
        around(self.trainer, "_compute_logprobs", after=self.scored_tokens)
        super().install()

    def turn_begins(self, *_: object, **__: object) -> float:
        """Generation begins: forget the last turn."""
        self._scores = None
        return time.perf_counter()

    def generated(self, started: float, *_: object, **__: object) -> None:
        """Both completions of every prompt are there."""
        self._spend("generation_seconds", started)

    def rewarded(self, started: float, result: tuple[Tensor, Tensor], *_: object, **__: object) -> None:
        """The reward model answered."""
        self._spend("reward_seconds", started)
        own, others = (each.detach().float().cpu().double().numpy() for each in result)
        self._scores = own, others

    def scored_tokens(
        self, _: object, result: tuple[Tensor, ...], model: object, own: dict[str, object], *rest: object, **__: object
    ) -> None:
        """Log-probs of the completions' tokens: first the policy's of its own, last the reference's of the same."""
        width = rest[-1]
        ids, attention, prompts = own["input_ids"], own["attention_mask"], own["raw"]
        assert isinstance(width, int)
        assert isinstance(ids, Tensor)
        assert isinstance(attention, Tensor)
        assert isinstance(prompts, Sequence)
        marks = attention.bool().cpu().numpy()
        self._turns.append(
            _Turn(
                prompts=list(prompts),
                prompt_tokens=marks[:, :width].sum(axis=1),
                ids=ids[:, width:].cpu().numpy(),
                mask=marks[:, width:],
                policy=result[0].detach().float().cpu().numpy(),
                reference=result[-1].detach().float().cpu().numpy(),
                scores=self._scores,
            )
        )

    def metrics(self, record: StepRecord, raw: dict[str, float]) -> dict[str, float]:
        """The trainer's own numbers, and the divergence a token."""
        out = super().metrics(record, raw)
        if any(turn.mask.any() for turn in self._turns):
            policy, reference = (
                np.concatenate([getattr(turn, name)[turn.mask] for turn in self._turns])
                for name in ("policy", "reference")
            )
            out["kl_mean"], out["logprob_mean"] = float((policy - reference).mean()), float(policy.mean())
        return out

    def samples(self, record: StepRecord) -> list[Part]:
        """The policy's completion of every prompt."""
        turns, self._turns = self._turns, []
        starts = accumulate((len(turn.ids) for turn in turns), initial=0)
        return [self._rows(turn, record.number, start) for turn, start in zip(turns, starts, strict=False)]

    def _rows(self, turn: _Turn, step: int, start: int) -> Part:
        count = len(turn.ids)
        first = self._first(count, start)
        kept = [ids[keep].tolist() for ids, keep in zip(turn.ids, turn.mask, strict=True)]
        prompts = [shown(prompt) for prompt in turn.prompts]
        out: dict[str, list[object]] = {
            "split": ["train"] * count,
            "group": [f"{step}/{first + place}" for place in range(count)],
            "sample": list(range(first, first + count)),
            "prompt": list(prompts),
            "prompt_id": [digest(text) for text in prompts],
            "completion": list(self.decode(kept)),
            "prompt_tokens": [int(each) for each in turn.prompt_tokens],
            **ending_columns(kept, self._eos),
        }
        if turn.scores is not None:
            own, others = turn.scores
            out["reward"], out["extra/opponent_reward"] = own.tolist(), others.tolist()
            out["preference"] = ["chosen" if better else "rejected" for better in own >= others]
        if not all(isinstance(prompt, str) for prompt in turn.prompts):
            out["prompt_messages"] = [as_json(prompt) for prompt in turn.prompts]
        return out | number_columns(turn.policy, turn.reference, turn.mask, kept, with_tokens=self.with_tokens)
