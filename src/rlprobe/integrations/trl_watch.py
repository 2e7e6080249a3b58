"""What rlprobe looks at in every trainer of TRL: steps, losses, gradients, weights and the trainer's own metrics.

The trainers that it knows better have a subclass each. `global_step` is one behind until the step ends.
"""

import time
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from rlprobe.integrations.guard import HookGuard
from rlprobe.integrations.trl_keys import Key, canonical
from rlprobe.integrations.trl_settings import algorithm_of, in_parts
from rlprobe.integrations.trl_step import StepRecord
from rlprobe.integrations.trl_trainer import Trainer
from rlprobe.integrations.trl_weights import bad_gradients, whole
from rlprobe.integrations.trl_wrapping import Wraps

Part = Mapping[str, list[object]]  # sample columns of equal length


class Watch:
    """Looks on at one trainer and collects the current step.

    Args:
        trainer: any trainer of transformers.
        guard: what every hook runs under.
        with_tokens: whether per-token arrays are kept.
    """

    own_loop = False  # whether its train() is not that of transformers
    complete = False  # whether nothing that the trainer logs is missed by its hooks

    def __init__(self, trainer: Trainer, guard: HookGuard, *, with_tokens: bool) -> None:
        self.trainer, self.guard, self.with_tokens = trainer, guard, with_tokens
        self.algorithm = algorithm_of(trainer)
        self.step = StepRecord(number=1, started=time.perf_counter())
        self.wraps = Wraps(guard)

    def install(self) -> None:
        """Put the wrappers on the trainer instance."""
        self.wraps.around(self.trainer, "training_step", after=self.micro_batch_done)
        self._watch_clipping()

    @property
    def training(self) -> bool:
        """Whether the trainer trains; otherwise it evaluates."""
        return bool(self.trainer.model.training)

    @property
    def has_reference(self) -> bool:
        """Whether the policy's own frozen weights are the reference (adapters)."""
        return bool(getattr(self.trainer, "beta", 0.0))

    def clock(self, *_: object, **__: object) -> float:
        """Seconds of a clock that only goes on."""
        return time.perf_counter()

    def key(self, raw: str) -> Key:
        """The canonical name of one of the trainer's own keys."""
        return canonical(raw, self.algorithm)

    def table(self) -> Mapping[str, Sequence[object]]:
        """The trainer's own metrics since it last logged: key -> values, oldest first."""
        for name in ("_metrics", "_stored_metrics"):
            found = getattr(self.trainer, name, None)
            if isinstance(found, Mapping) and isinstance(inner := found.get("train", {}), Mapping):
                return inner
        found = getattr(self.trainer, "stats", None)
        return found if isinstance(found, Mapping) else {}

    def micro_batch_done(self, _: object, loss: Tensor, *__: object, **___: object) -> None:
        """One micro-batch is through; the trainer adds up exactly these numbers."""
        self.step.losses.append(loss)

    def metrics(self, record: StepRecord, raw: dict[str, float]) -> dict[str, float]:
        """What is known of a step: the trainer's own numbers, and the loss that was minimised."""
        return raw | ({"loss": added_up(record.losses)} if record.losses else {})

    def samples(self, record: StepRecord) -> list[Part]:
        """Sample columns of the step."""
        return []

    def evaluated(self) -> list[Part]:
        """Sample columns of the evaluation that is over."""
        return []

    def gradients(self, parameters: Sequence[Tensor]) -> None:
        """Count the gradient tensors that are not finite, where this process has all of them."""
        bad = None if in_parts(self.trainer) else bad_gradients(parameters)
        if bad is not None:
            self.step.facts["grad_nonfinite_count"] = float(bad)

    def clipped(self, norm: object) -> None:
        """The norm before clipping, which the trainer logs only now and then.

        What no process knows alone is left to the trainer's log: asking for it would wait for the others.
        """
        known = whole(norm) if isinstance(norm, Tensor) else norm
        if known is not None:
            self.step.facts["grad_norm"] = float(known)  # type: ignore[arg-type]  # a tensor of one element

    def decode(self, token_ids: Sequence[Sequence[int]]) -> list[str]:
        """Texts of the generated ids, by the tokenizer's class: what was put on the instance does not reach it."""
        tokenizer = getattr(self.trainer, "_tokenizer", None) or self.trainer.processing_class
        decode = getattr(type(tokenizer), "batch_decode")  # noqa: B009  # the class's own, past the instance
        return list(decode(tokenizer, [list(ids) for ids in token_ids], skip_special_tokens=True))

    def _watch_clipping(self) -> None:
        """Look at the gradients before they are clipped: afterwards a NaN norm has made all of them NaN."""
        accelerator = self.trainer.accelerator
        original, guard = accelerator.clip_grad_norm_, self.guard

        def clip_grad_norm_(parameters: object, *args: object, **kwargs: object) -> object:
            given = [parameters] if isinstance(parameters, Tensor) else list(parameters)  # type: ignore[call-overload]  # a generator is used up by looking
            with guard("before clip_grad_norm_"):
                self.gradients(given)
            norm = original(given, *args, **kwargs)
            with guard("after clip_grad_norm_"):
                self.clipped(norm)
            return norm

        self.wraps.replace(accelerator, "clip_grad_norm_", clip_grad_norm_)

    def _spend(self, phase: str, started: float) -> None:
        if self.training:
            self.step.spend(phase, time.perf_counter() - started)

    def _first(self, count: int, before: int = 0) -> int:
        """Index of this rank's first sample among every rank's.

        Args:
            count: samples of this batch; every rank has as many.
            before: samples that this rank had in earlier batches of the step.
        """
        accelerator = self.trainer.accelerator
        return before * int(accelerator.num_processes) + int(accelerator.process_index) * count


def added_up(losses: Sequence[Tensor]) -> float:
    """The step's loss as the trainer adds it up, NaN and infinities kept."""
    return float(torch.stack([loss.detach().float().reshape(()) for loss in losses]).sum())
