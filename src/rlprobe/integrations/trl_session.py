"""One attachment at work: turns what the hooks collected into rows and events of the recording."""

import os
import threading
import time
from collections.abc import Mapping, Sequence

import numpy as np
import torch

from rlprobe.integrations.guard import HookGuard
from rlprobe.integrations.trl_hooks import Hooks, added_up
from rlprobe.integrations.trl_keys import canonical, evaluation_name, fold, number
from rlprobe.integrations.trl_step import StepRecord, loss_columns, loss_metrics
from rlprobe.integrations.trl_trainer import Trainer
from rlprobe.integrations.trl_weights import ReferenceProbe, UpdateProbe, due
from rlprobe.recorder.lifelines import crash_fields
from rlprobe.recorder.recorder import Recorder
from rlprobe.recorder.sampling import Capture

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


class Session:
    """What is recorded of one trainer.

    Args:
        trainer: the trainer.
        recorder: where rows and events go.
        guard: what every hook runs under.
        capture: which sample rows the recorder keeps; without token arrays none are made.
    """

    def __init__(self, trainer: Trainer, recorder: Recorder, guard: HookGuard, *, capture: Capture) -> None:
        self.trainer, self.recorder = trainer, recorder
        self.hooks = Hooks(trainer, guard, with_tokens=capture not in ("scalars", "samples"))
        self._update: UpdateProbe | None = None
        self._reference: ReferenceProbe | None = None
        self._first_step = 0
        self._consumed: dict[str, int] = {}  # raw metric -> values of its list that are already recorded
        self._updating = 0.0
        self._halted = False

    def train_begins(self, step: int) -> None:
        """Training starts or resumes after `step` steps."""
        self._first_step = step + 1
        self._consumed.clear()
        self.recorder.log_event("train_begin", step=step)
        if step > 0:
            self.recorder.log_event("resume", step, from_step=step)
        self._update = UpdateProbe(self.trainer.model)
        reference, adapters = self.trainer.ref_model, getattr(self.trainer.model, "peft_config", None)
        if reference is not None:
            self._reference = ReferenceProbe(reference, frozen_only=False)
        elif adapters and self.trainer.beta:
            self._reference = ReferenceProbe(self.trainer.model, frozen_only=True)

    def step_begins(self, step: int) -> None:
        """The trainer begins the step after `step`."""
        self.hooks.step = StepRecord(number=step + 1, started=time.perf_counter())

    def update_begins(self, learning_rate: float | None) -> None:
        """Gradients are clipped, the optimizer is about to step."""
        if self._update is not None:
            self._update.before()
        if learning_rate is not None:
            self.hooks.step.facts["learning_rate"] = learning_rate
        self._updating = time.perf_counter()

    def update_ends(self) -> None:
        """The optimizer stepped."""
        record = self.hooks.step
        record.spend("optimizer_seconds", time.perf_counter() - self._updating)
        if self._update is not None:
            record.facts |= self._update.after()
        record.facts["skipped_update_fraction"] = float(self.trainer.accelerator.optimizer_step_was_skipped)

    def step_ends(self, step: int) -> bool:
        """The step is over: record it. Returns whether training was asked to stop."""
        record = self.hooks.step
        if self._reference is not None and due(step, self._first_step):
            drift = self._reference.drift()
            if drift is not None:
                record.facts["reference_drift"] = drift
        record.facts["step_seconds"] = time.perf_counter() - record.started
        self.recorder.log_step(step, self._metrics(record))
        self._log_rollouts(step, record)
        return self._asked_to_stop(step)

    def logged(self, logs: Mapping[str, object], step: int) -> None:
        """The trainer logs: keep what the hooks have not seen. Its lists are empty after a training log."""
        evaluation = any(key.startswith("eval_") for key in logs)
        if not evaluation:
            self._consumed.clear()
        if evaluation:
            self.recorder.log_step(step, scores_of(logs))
        elif "loss" in logs and "learning_rate" in logs:  # not the summary at the end
            seen = self.hooks.step.facts
            keep = {"grad_norm", "epoch"} - set(seen)
            self.recorder.log_step(step, {key: number(logs[key]) for key in keep if logs.get(key) is not None})

    def evaluated(self, metrics: Mapping[str, object], step: int) -> None:
        """An evaluation is over: its scores as an event, its samples apart from the training ones."""
        self.recorder.log_event("evaluation", step=step, **scores_of(metrics))
        rollouts, self.hooks.evaluations = self.hooks.evaluations, []
        self._log_samples(step, [each.rows() for each in rollouts])

    def saved(self, step: int) -> None:
        """A checkpoint was written."""
        path = os.path.join(self.trainer.args.output_dir, f"checkpoint-{step}")
        self.recorder.log_event("checkpoint", step=step, path=path)

    def train_ends(self, step: int) -> None:
        """Training ended as planned or was asked to stop."""
        self.recorder.log_event("train_end", step=step)
        self.recorder.flush()

    def crashed(self, error: BaseException) -> None:
        """train() raised: record what the unfinished step knows, its samples, and the error."""
        step, record = int(self.trainer.state.global_step), self.hooks.step
        if record.number == step + 1:
            self.recorder.log_step(record.number, self._metrics(record))
            self._log_rollouts(record.number, record)
        if not isinstance(error, KeyboardInterrupt):  # the recorder's signal handler told that
            self.recorder.log_event("crash", step + 1, **crash_fields(error, threading.current_thread().name))
        self.recorder.mark_crashed()

    def _metrics(self, record: StepRecord) -> dict[str, float]:
        """Everything that is known of a step, what was computed from all samples over what the trainer sums up."""
        out = self._raw_metrics()
        for name in self.hooks.rules.names:
            if record.rollouts and all(each.silent(name) for each in record.rollouts):
                out.pop(f"reward_component_mean/{name}", None)  # it had nothing to say: TRL's NaN is no number gone bad
                out.pop(f"reward_component_std/{name}", None)
        if getattr(self.trainer, "scale_rewards", "group") == "batch" or self.hooks.rules.normalize_each:
            out.pop("zero_variance_group_fraction", None)  # TRL's is of the batch then, not of groups
        own = loss_metrics(record, whole_sequences=self.hooks.whole_sequences)
        self._choose(out, own)
        out |= own
        out |= combined([(len(each), each.metrics()) for each in record.rollouts])
        out |= self._loss_terms(record, own)
        out |= record.facts
        out |= record.seconds
        out |= _resources(self.trainer)
        if record.rollouts and (seconds := record.facts.get("step_seconds")):
            out["tokens_per_second"] = sum(each.tokens for each in record.rollouts) / seconds
        return out

    def _choose(self, raw: dict[str, float], own: dict[str, float]) -> None:
        """Leave one of two values for a metric: the trainer's where it is of every rank, ours for the divergence.

        TRL's `kl` is of scoring time in RLOO and may be multiplied by the ratio in GRPO; it is kept under its own name.
        """
        if self.trainer.accelerator.num_processes > 1 and not self.hooks.rloo:
            own.pop("kl_mean", None)
        elif "kl_mean" in own and "kl_mean" in raw:
            raw["trl/kl"] = raw.pop("kl_mean")
        for name in raw.keys() & own.keys():
            del own[name]

    def _raw_metrics(self) -> dict[str, float]:
        """The trainer's own metrics of this step, before it averages them over logging steps and drops NaN."""
        out = {}
        for key, values in self.trainer._metrics["train"].items():
            known = canonical(key)
            start = 0 if known.fold == "last" else self._consumed.get(key, 0)
            self._consumed[key] = len(values)
            fresh = [number(value) for value in values[start:] if not isinstance(value, tuple)]
            if fresh:
                out[known.name] = fold(fresh, known.fold)
        out["kl_coefficient"] = float(self.trainer.beta)
        if (epoch := self.trainer.state.epoch) is not None:
            out["epoch"] = float(epoch)
        return out

    def _loss_terms(self, record: StepRecord, own: Mapping[str, float]) -> dict[str, float]:
        if not record.losses:
            return {}
        loss = added_up(record.losses)
        if not record.separable:
            return {"loss": loss}
        others = sum(own.get(name, 0.0) for name in ("kl_loss", "entropy_loss", "auxiliary_loss"))
        return {"loss": loss, "policy_loss": loss - others}

    def _log_rollouts(self, step: int, record: StepRecord) -> None:
        """Record the samples that this step generated, whole groups at once, with what its loss knows of them."""
        parts = []
        for rollout in record.rollouts:
            rows = rollout.rows() | loss_columns(rollout, record, whole_sequences=self.hooks.whole_sequences)
            if self.hooks.with_tokens:
                rows["token_ids"] = [np.asarray(ids, dtype=np.int32) for ids in rollout.scored.token_ids]
            parts.append(rows)
        self._log_samples(step, parts)

    def _log_samples(self, step: int, parts: Sequence[Mapping[str, list[object]]]) -> None:
        if parts:
            self.recorder.log_samples(step, end_to_end(parts), owned=True)

    def _asked_to_stop(self, step: int) -> bool:
        """Whether a guardian asked for a halt. With several processes one alone must not stop, so none does."""
        if self._halted or not self.recorder.should_stop:
            return False
        self._halted = True
        if self.trainer.accelerator.num_processes == 1:
            return True
        self.recorder.log_event("custom", step, message="asked to halt, not done: training runs in several processes")
        return False


def scores_of(logs: Mapping[str, object]) -> dict[str, float]:
    """What an evaluation logged, under the names of evaluations."""
    return {evaluation_name(key): number(value) for key, value in logs.items() if key.startswith("eval_")}


def combined(parts: Sequence[tuple[int, Mapping[str, float]]]) -> dict[str, float]:
    """Several rollouts' metrics as one: seconds add up, the rest is weighted by samples."""
    names = dict.fromkeys(name for _, part in parts for name in part)
    out = {}
    for name in names:
        here = [(weight, part[name]) for weight, part in parts if name in part]
        if name.startswith("reward_function_seconds/"):
            out[name] = sum(value for _, value in here)
        else:
            out[name] = sum(weight * value for weight, value in here) / sum(weight for weight, _ in here)
    return out


def end_to_end(parts: Sequence[Mapping[str, list[object]]]) -> dict[str, list[object]]:
    """Sample columns of several parts as one table; None where a part lacks a column."""
    out: dict[str, list[object]] = {name: [] for part in parts for name in part}
    for part in parts:
        rows = len(part["sample"])
        for name, column in out.items():
            column.extend(part.get(name) or [None] * rows)
    return out


def _resources(trainer: Trainer) -> dict[str, float]:
    out = {}
    device = getattr(trainer.accelerator, "device", None)
    if device is not None and device.type == "cuda":
        out["memory_bytes"] = float(torch.cuda.max_memory_allocated(device))
    try:
        with open("/proc/self/statm", encoding="ascii") as pages:
            out["host_memory_bytes"] = float(pages.read().split()[1]) * PAGE_BYTES
    except OSError:
        pass  # not Linux
    return out
