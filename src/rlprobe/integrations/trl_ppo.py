"""What rlprobe looks at while TRL's PPOTrainer works (trl 1.12 and older; 0.12 was the first of this kind).

It has a training loop of its own: no training_step, no callback before an update, and all that it knows of a rollout in
local variables of train(). They are read, never changed, when it logs, which is once a step.
"""

import sys
import time
from collections.abc import Mapping
from types import FrameType

import numpy as np
import torch
from torch import Tensor

from rlprobe.integrations.trl_keys import number
from rlprobe.integrations.trl_rollout import repetition
from rlprobe.integrations.trl_settings import in_parts
from rlprobe.integrations.trl_step import StepRecord
from rlprobe.integrations.trl_watch import Part, Watch
from rlprobe.integrations.trl_weights import UpdateProbe, bad_gradients
from rlprobe.recording.private_text import digest

NAMES = (
    "queries", "responses", "postprocessed_responses", "scores", "values", "returns", "advantages", "logprobs",
    "ref_logprobs", "padding_mask", "padding_mask_p1", "contain_eos_token", "sequence_lengths", "kl",
)  # fmt: skip  # of train() in trl 0.12 to 1.12
_FRAMES = 8  # callers that are looked through for train()


class PpoWatch(Watch):
    """Looks on at a PPOTrainer."""

    own_loop = True

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]  # those of Watch
        self._logged: dict[str, float] = {}
        self._held: dict[str, np.ndarray] = {}
        self._norms: list[tuple[float, float]] = []  # of all gradients, of the value model's
        self._changes: list[dict[str, float]] = []
        self._probe = UpdateProbe(self.trainer.model)

    def install(self) -> None:
        """Put the wrappers on the trainer instance."""
        self.wraps.around(self.trainer, "log", before=self.logs)
        self.wraps.around(self.trainer.optimizer, "step", before=self.update_begins, after=self.update_ends)

    def update_begins(self, *_: object, **__: object) -> float | None:
        """The optimizer is about to step; nothing is clipped."""
        if not self.trainer.accelerator.sync_gradients:
            return None
        parameters = [each for each in self.trainer.model.parameters() if each.grad is not None]
        facts = self.step.facts
        bad = None if in_parts(self.trainer) else bad_gradients(parameters)
        if bad is not None:
            facts["grad_nonfinite_count"] = facts.get("grad_nonfinite_count", 0.0) + bad
            value = getattr(self.trainer.model, "value_model", None)
            of_value = [] if value is None else [each for each in value.parameters() if each.grad is not None]
            self._norms.append((_norm(parameters), _norm(of_value)))
        self._probe.before()
        return time.perf_counter()

    def update_ends(self, started: float | None, *_: object, **__: object) -> None:
        """The optimizer stepped."""
        if started is not None:
            self.step.spend("optimizer_seconds", time.perf_counter() - started)
            self._changes.append(self._probe.after())

    def logs(self, logs: Mapping[str, object], *_: object, **__: object) -> None:
        """The trainer logs the step: its numbers, and what train() knows of the rollout."""
        for key, value in logs.items():
            known = self.key(key)
            self._logged[known.name] = number(value)
        frame = _training(sys._getframe())
        if frame is not None:
            self._held = _taken(frame)

    def metrics(self, record: StepRecord, raw: dict[str, float]) -> dict[str, float]:
        """The trainer's own numbers, and those of values, returns and advantages that it does not log."""
        out = {**raw, **self._logged, "kl_coefficient": float(getattr(self.trainer.args, "kl_coef", 0.0))}
        self._logged = {}
        if self._norms:
            out["grad_norm"], out["value_grad_norm"] = (float(np.mean(each)) for each in zip(*self._norms, strict=True))
        for name in ("weight_update_ratio", "weight_changed_fraction"):
            found = [each[name] for each in self._changes if name in each]
            if found:
                out[name] = float(np.mean(found))
        self._norms, self._changes = [], []
        return out | _of_values(self._held)

    def samples(self, record: StepRecord) -> list[Part]:
        """The rollout of the step."""
        held, self._held = self._held, {}
        if not {"queries", "responses", "scores", "sequence_lengths"} <= held.keys():
            return []
        return [self._rows(held, record.number)]

    def _rows(self, held: Mapping[str, np.ndarray], step: int) -> Part:
        count, pad = len(held["scores"]), getattr(self.trainer.processing_class, "pad_token_id", None)
        first = self._first(count)
        lengths = held["sequence_lengths"] + 1
        shown = held.get("postprocessed_responses", held["responses"])
        ids = [line[:end].tolist() for line, end in zip(shown, lengths, strict=True)]
        prompts = [[one for one in line.tolist() if one != pad] for line in held["queries"]]
        texts = self.decode(prompts)
        ended = held.get("contain_eos_token", np.zeros(count, dtype=bool)).tolist()
        out: dict[str, list[object]] = {
            "split": ["train"] * count,
            "generation": [str(step)] * count,
            "group": [f"{step}/{first + row}" for row in range(count)],
            "sample": list(range(first, first + count)),
            "prompt": list(texts),
            "prompt_id": [digest(text) for text in texts],
            "completion": list(self.decode(ids)),
            "reward": held["scores"].tolist(),
            "prompt_tokens": [len(each) for each in prompts],
            "completion_tokens": [len(each) for each in ids],
            "truncated": [not flag for flag in ended],
            "stop_reason": ["eos" if flag else "length" for flag in ended],
            "repetition": [repetition(each) for each in ids],
        }
        if self.with_tokens:
            out["token_ids"] = [np.asarray(each, dtype=np.int32) for each in ids]
        return out | self._token_columns(held, lengths)

    def _token_columns(self, held: Mapping[str, np.ndarray], lengths: np.ndarray) -> dict[str, list[object]]:
        out: dict[str, list[object]] = {}
        keep = (
            ~held["padding_mask"]
            if "padding_mask" in held
            else np.arange(held["responses"].shape[1]) < lengths[:, None]
        )
        tokens = np.maximum(keep.sum(axis=1), 1)
        for ours, name in (
            ("advantage", "advantages"), ("logprob", "logprobs"), ("reference_logprob", "ref_logprobs"), ("kl", "kl"),
            ("value", "values"), ("return", "returns"),
        ):  # fmt: skip
            if name in held:
                out[ours] = (np.where(keep, held[name], 0.0).sum(axis=1) / tokens).tolist()
        if "kl" in out:
            out["kl_estimator"] = [str(getattr(self.trainer.args, "kl_estimator", "k1"))] * len(tokens)
        for ours, name in (
            ("token_logprobs", "logprobs"),
            ("token_reference_logprobs", "ref_logprobs"),
            ("token_kl", "kl"),
        ):
            if self.with_tokens and name in held:
                out[ours] = [line[here].astype(np.float16) for line, here in zip(held[name], keep, strict=True)]
        return out


def _of_values(held: Mapping[str, np.ndarray]) -> dict[str, float]:
    """Step metrics over the tokens that the loss counts: the value head's may have one more a sample."""
    out: dict[str, float] = {}
    if {"values", "returns", "padding_mask_p1"} <= held.keys():
        keep = ~held["padding_mask_p1"]
        values, returns = held["values"][keep].astype(np.float64), held["returns"][keep].astype(np.float64)
        out |= {"value_mean": float(values.mean()), "return_mean": float(returns.mean())}
        out |= {"return_min": float(returns.min()), "return_max": float(returns.max())}
        if (spread := returns.var()) > 0:
            out["value_explained_variance"] = float(1 - (returns - values).var() / spread)
    if {"advantages", "padding_mask"} <= held.keys():
        advantages = held["advantages"][~held["padding_mask"]].astype(np.float64)
        out |= {"advantage_mean": float(advantages.mean()), "advantage_abs_mean": float(np.abs(advantages).mean())}
        out |= {"advantage_min": float(advantages.min()), "advantage_max": float(advantages.max())}
        out["advantage_std"] = float(advantages.std(ddof=1)) if len(advantages) > 1 else float("nan")
        out["positive_advantage_token_fraction"] = float((advantages > 0).mean())
    if {"kl", "padding_mask"} <= held.keys():
        out["kl_mean"] = float(held["kl"][~held["padding_mask"]].mean())
    return out


def _norm(parameters: list[torch.nn.Parameter]) -> float:
    """Norm of the gradients of some parameters."""
    norms = torch._foreach_norm([each.grad for each in parameters if each.grad is not None]) if parameters else []
    return float(torch.stack([each.float().cpu() for each in norms]).norm()) if len(norms) else 0.0


def _training(frame: FrameType | None) -> FrameType | None:
    """The frame of the trainer's own train() among the callers."""
    for _ in range(_FRAMES):
        if frame is None:
            return None
        code = frame.f_code
        if code.co_name == "train" and {"queries", "advantages"} <= set(code.co_varnames):
            return frame
        frame = frame.f_back
    return None


def _taken(frame: FrameType) -> dict[str, np.ndarray]:
    """Copies of the variables that are tensors; the frame keeps no reference that it did not have."""
    variables = frame.f_locals
    found = {name: variables[name] for name in NAMES if isinstance(variables.get(name), Tensor)}
    if isinstance(variables, dict):  # a snapshot (Python 3.12 and older), which would keep every tensor alive
        variables.clear()
    return {name: _host(value) for name, value in found.items()}


def _host(value: Tensor) -> np.ndarray:
    host: np.ndarray = (value.detach().float() if value.is_floating_point() else value.detach()).cpu().numpy()
    return host
