"""One attachment at work: turns what a watch collected into rows and events of the recording."""

import math
import os
import threading
import time
from collections.abc import Mapping, Sequence

import torch

from rlprobe.integrations.guard import HookGuard
from rlprobe.integrations.trl_keys import evaluation_name, fold, number
from rlprobe.integrations.trl_kinds import watch_of
from rlprobe.integrations.trl_settings import parallelism
from rlprobe.integrations.trl_step import StepRecord
from rlprobe.integrations.trl_trainer import Trainer
from rlprobe.integrations.trl_watch import added_up
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
        self.watch = watch_of(trainer, guard, with_tokens=capture not in ("scalars", "samples"))
        self._update: UpdateProbe | None = None
        self._reference: ReferenceProbe | None = None
        self.begun = False  # whether the session was there when training began, or has joined it
        self._first_step = 0
        self._consumed: dict[str, int] = {}  # raw metric -> values of its list that are already recorded
        self._recorded: set[str] = set()  # names that the hooks have recorded so far
        self._in_backward = parallelism(trainer) == "DEEPSPEED"  # its engine updates the weights there already
        self._updating = 0.0

    def train_begins(self, step: int, *, running: bool = False) -> None:
        """Training starts or resumes after `step` steps; or it is running, and is seen from now on."""
        self.begun, self._first_step = True, step + 1
        self._consumed = {key: len(values) for key, values in self.watch.table().items()} if running else {}
        self.recorder.log_event("train_begin", step=step)
        if step > 0 and not running:
            self.recorder.log_event("resume", step, from_step=step)
        self._update = UpdateProbe(self.trainer.model)
        self.watch.step = StepRecord(number=step + 1, started=time.perf_counter())
        reference, adapters = getattr(self.trainer, "ref_model", None), getattr(self.trainer.model, "peft_config", None)
        if reference is not None:
            self._reference = ReferenceProbe(reference, frozen_only=False)
        elif adapters and self.watch.has_reference:
            self._reference = ReferenceProbe(self.trainer.model, frozen_only=True)

    def step_begins(self, step: int) -> None:
        """The trainer begins the step after `step`."""
        if not self.begun:
            self.train_begins(step, running=True)
        self.watch.step = StepRecord(number=step + 1, started=time.perf_counter())
        if self._in_backward:
            self._before_update(rate_of(getattr(self.trainer, "optimizer", None)))

    def update_begins(self, optimizer: object) -> None:
        """Gradients are clipped, the optimizer is about to step."""
        if not self._in_backward:
            self._before_update(rate_of(optimizer))

    def _before_update(self, learning_rate: float | None) -> None:
        if self._update is not None:
            self._update.before()
        if learning_rate is not None:
            self.watch.step.facts["learning_rate"] = learning_rate
        self._updating = time.perf_counter()

    def update_ends(self) -> None:
        """The optimizer stepped."""
        record = self.watch.step
        if not self._in_backward:
            record.spend("optimizer_seconds", time.perf_counter() - self._updating)
        if self._update is not None:
            record.facts |= self._update.after()
        record.facts["skipped_update_fraction"] = float(self.trainer.accelerator.optimizer_step_was_skipped)

    def step_ends(self, step: int) -> float:
        """The step is over: record it, if all of it was seen. Returns the seconds that it took."""
        if not self.begun:
            self.watch.samples(self.watch.step)  # taken off, since they are of no step that is recorded
            self.train_begins(step, running=True)
            return 1.0
        record = self.watch.step
        if self._reference is not None and due(step, self._first_step):
            drift = self._reference.drift()
            if drift is not None:
                record.facts["reference_drift"] = drift
        seconds = record.facts["step_seconds"] = time.perf_counter() - record.started
        self.recorder.log_step(step, self._metrics(record))
        self._log_samples(step, self.watch.samples(record))
        if self.watch.own_loop:  # nothing tells that its next step begins
            self.watch.step = StepRecord(number=step + 1, started=time.perf_counter())
        return seconds

    def logged(self, logs: Mapping[str, object], step: int) -> None:
        """The trainer logs: keep what the hooks have not seen. Its lists are empty after a training log."""
        evaluation = any(key.startswith("eval_") for key in logs)
        if not evaluation:
            self._consumed.clear()
        if evaluation:
            self.recorder.log_step(step, scores_of(logs))
        elif "loss" in logs and "learning_rate" in logs and step >= self._first_step:  # not the summary at the end
            names = {self.watch.key(key).name: value for key, value in logs.items() if value is not None}
            wanted = {"grad_norm", "epoch"} if self.watch.complete else names.keys()
            missed = wanted - self._recorded
            if self._of_all_processes():
                missed |= {"loss"}
            self.recorder.log_step(step, {name: number(names[name]) for name in missed if name in names})

    def _of_all_processes(self) -> bool:
        """Whether the loss that is logged is that of this step in every process, and ours of one alone."""
        several = self.trainer.accelerator.num_processes > 1 and getattr(self.trainer.args, "logging_steps", 0) == 1
        losses = self.watch.step.losses
        return (
            several and bool(losses) and math.isfinite(added_up(losses))
        )  # a NaN is kept, TRL logs an average instead

    def evaluated(self, metrics: Mapping[str, object], step: int) -> None:
        """An evaluation is over: its scores as an event, its samples apart from the training ones."""
        self.recorder.log_event("evaluation", step=step, **scores_of(metrics))
        self._log_samples(step, self.watch.evaluated())

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
        step, record = int(self.trainer.state.global_step), self.watch.step
        if record.number == step + 1:
            self.recorder.log_step(record.number, self._metrics(record))
            self._log_samples(record.number, self.watch.samples(record))
        if not isinstance(error, KeyboardInterrupt):  # the recorder's signal handler told that
            self.recorder.log_event("crash", step + 1, **crash_fields(error, threading.current_thread().name))
        self.recorder.mark_crashed()

    def _metrics(self, record: StepRecord) -> dict[str, float]:
        """Everything that is known of a step."""
        out = self.watch.metrics(record, self._raw_metrics())
        out |= record.facts
        out |= record.seconds
        out |= _resources(self.trainer)
        self._recorded |= out.keys()
        return out

    def _raw_metrics(self) -> dict[str, float]:
        """The trainer's own metrics of this step, before it averages them over logging steps and drops NaN."""
        out = {}
        for key, values in self.watch.table().items():
            known = self.watch.key(key)
            start = 0 if known.fold == "last" else self._consumed.get(key, 0)
            self._consumed[key] = len(values)
            fresh = [number(value) for value in values[start:]]
            if fresh:
                out[known.name] = fold(fresh, known.fold)
        if (epoch := self.trainer.state.epoch) is not None:
            out["epoch"] = float(epoch)
        return out

    def _log_samples(self, step: int, parts: Sequence[Mapping[str, list[object]]]) -> None:
        if parts:
            self.recorder.log_samples(step, end_to_end(parts), owned=True)


def rate_of(optimizer: object) -> float | None:
    """The rate of the coming update."""
    groups = getattr(optimizer, "param_groups", None)
    return float(groups[0]["lr"]) if groups else None


def scores_of(logs: Mapping[str, object]) -> dict[str, float]:
    """What an evaluation logged, under the names of evaluations."""
    return {evaluation_name(key): number(value) for key, value in logs.items() if key.startswith("eval_")}


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
