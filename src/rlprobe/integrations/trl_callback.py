"""The callbacks of the TRL integration: one that serves a session, and RlprobeCallback for `callbacks=[...]`."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from rlprobe.integrations.guard import HookGuard
from rlprobe.integrations.trl_keys import canonical, evaluation_name, metadata_of, number
from rlprobe.integrations.trl_settings import algorithm_of, arguments_of, model_name, settings_of
from rlprobe.recorder.recorder import Recorder
from rlprobe.recorder.sample_rows import CaptureText
from rlprobe.recorder.sampling import Capture

if TYPE_CHECKING:
    from rlprobe.integrations.trl_session import Session

try:
    from transformers import TrainerCallback as Base

    AVAILABLE = True
except ImportError:
    Base = object
    AVAILABLE = False

log = logging.getLogger("rlprobe")

INSTALL = "pip install 'rlprobe[trl]'"


class State(Protocol):
    """transformers.TrainerState."""

    global_step: int


class Control(Protocol):
    """transformers.TrainerControl: what a callback may ask of the trainer."""

    should_training_stop: bool
    should_save: bool


class Halted(Exception):
    """Ends a training loop that does not look at what callbacks ask of it; `attach` catches it around train()."""


class Stopper:
    """Ends training after the step that every process agrees on, with a checkpoint where the trainer can write one.

    Args:
        trainer: TRL's PPOTrainer has a loop of its own, which saves when asked to and never stops; in several
            processes saving raises there (trl 1.12), so that training ends without.
        guard: what asking runs under.
    """

    def __init__(self, trainer: object, guard: HookGuard) -> None:
        self._guard = guard
        self._own_loop = algorithm_of(trainer) == "ppo"
        self._saves = not self._own_loop or int(trainer.accelerator.num_processes) == 1  # type: ignore[attr-defined]  # every trainer has it
        self.saving = False  # a loop of its own was asked to save

    def after(self, recorder: Recorder, step: int, control: Control, seconds: float = 1.0) -> None:
        """A step is over.

        Raises:
            Halted: training is to end, and the trainer does not end by itself.
        """
        if self.saving:
            raise Halted
        asked = False
        with self._guard("halt"):
            asked = recorder.should_stop_after(step, seconds)
        if asked and not self._saves:
            raise Halted
        if asked:
            control.should_training_stop = control.should_save = True
            self.saving = self._own_loop


class SessionCallback(Base):  # type: ignore[misc]  # transformers is not there when types are checked
    """Tells a session where the trainer is."""

    def __init__(self, session: "Session", guard: HookGuard) -> None:
        self._session, self._guard = session, guard
        self._stopper = Stopper(session.trainer, guard)

    def on_train_begin(self, args: object, state: State, control: Control, **kwargs: object) -> None:
        self._stopper.saving = False
        with self._guard("on_train_begin"):
            self._session.train_begins(state.global_step)

    def on_step_begin(self, args: object, state: State, control: Control, **kwargs: object) -> None:
        with self._guard("on_step_begin"):
            self._session.step_begins(state.global_step)

    def on_pre_optimizer_step(self, args: object, state: State, control: Control, **kwargs: object) -> None:
        with self._guard("on_pre_optimizer_step"):
            self._session.update_begins(kwargs.get("optimizer"))

    def on_optimizer_step(self, args: object, state: State, control: Control, **kwargs: object) -> None:
        with self._guard("on_optimizer_step"):
            self._session.update_ends()

    def on_step_end(self, args: object, state: State, control: Control, **kwargs: object) -> None:
        seconds = 1.0
        with self._guard("on_step_end"):
            seconds = self._session.step_ends(state.global_step)
        self._stopper.after(self._session.recorder, state.global_step, control, seconds)

    def on_log(self, args: object, state: State, control: Control, **kwargs: object) -> None:
        with self._guard("on_log"):
            self._session.logged(mapping(kwargs.get("logs")), state.global_step)

    def on_evaluate(self, args: object, state: State, control: Control, **kwargs: object) -> None:
        with self._guard("on_evaluate"):
            self._session.evaluated(mapping(kwargs.get("metrics")), state.global_step)

    def on_save(self, args: object, state: State, control: Control, **kwargs: object) -> None:
        with self._guard("on_save"):
            self._session.saved(state.global_step)

    def on_train_end(self, args: object, state: State, control: Control, **kwargs: object) -> None:
        with self._guard("on_train_end"):
            self._session.train_ends(state.global_step)


class StopCallback(Base):  # type: ignore[misc]  # transformers is not there when types are checked
    """For a rank that does not record: stops with the others."""

    def __init__(self, trainer: object, recorder: Recorder, guard: HookGuard) -> None:
        self._recorder, self._stopper = recorder, Stopper(trainer, guard)

    def on_step_end(self, args: object, state: State, control: Control, **kwargs: object) -> None:
        self._stopper.after(self._recorder, state.global_step, control)


class RlprobeCallback(Base):  # type: ignore[misc]  # transformers is not there when types are checked
    """Records what a trainer of TRL logs, for `callbacks=[RlprobeCallback(run_dir)]`.

    A callback sees what is logged and nothing else: averages over `logging_steps`, no NaN loss, no samples.
    `attach(trainer, run_dir)` adds every step, every sample, gradients, weights and the reference.

    Args:
        run_dir: directory of the recording; one that exists is continued with a new segment.

    Raises:
        ImportError: transformers is not installed.
    """

    def __init__(self, run_dir: str | Path) -> None:
        if not AVAILABLE:
            raise ImportError(f"RlprobeCallback: expected transformers to be installed. Run {INSTALL}.")
        self._run_dir = Path(run_dir)
        self._recorder: Recorder | None = None
        self._algorithm = ""
        self._guard = HookGuard(self._report)

    def on_train_begin(self, args: object, state: State, control: Control, **kwargs: object) -> None:
        with self._guard("on_train_begin"):
            model, self._algorithm = kwargs.get("model"), algorithm_of(args)
            self._recorder = open_recorder(
                self._run_dir,
                algorithm=self._algorithm,
                model=model_name(model),
                settings=settings_of(args, model),
                configuration={"arguments": arguments_of(args), "capture": "callback"},
            )
            self._recorder.log_event("train_begin", step=state.global_step)
            if getattr(state, "is_world_process_zero", True):
                log.warning(
                    "rlprobe: RlprobeCallback records what the trainer logs. attach(trainer, run_dir) adds every step, "
                    "samples, gradients, weight updates and reference drift."
                )

    def on_log(self, args: object, state: State, control: Control, **kwargs: object) -> None:
        with self._guard("on_log"):
            logs = mapping(kwargs.get("logs"))
            if self._recorder is None or any(key.startswith("train_") for key in logs):  # the summary at the end
                return
            known = {
                evaluation_name(key) if key.startswith("eval_") else canonical(key, self._algorithm).name: number(value)
                for key, value in logs.items()
            }
            self._recorder.log_step(state.global_step, known)

    def on_step_end(self, args: object, state: State, control: Control, **kwargs: object) -> None:
        with self._guard("on_step_end"):
            if self._recorder is not None:
                halt(self._recorder, state.global_step, control)

    def on_save(self, args: object, state: State, control: Control, **kwargs: object) -> None:
        with self._guard("on_save"):
            if self._recorder is not None:
                path = f"{getattr(args, 'output_dir', '')}/checkpoint-{state.global_step}"
                self._recorder.log_event("checkpoint", step=state.global_step, path=path)

    def on_train_end(self, args: object, state: State, control: Control, **kwargs: object) -> None:
        with self._guard("on_train_end"):
            if self._recorder is not None:
                self._recorder.log_event("train_end", step=state.global_step)
                self._recorder.close()
                self._recorder = None

    def _report(self, hook: str, kind: str, message: str, frames: str) -> None:
        if self._recorder is not None:
            self._recorder.log_event("bad_hook", hook=hook, error=kind, message=message, traceback=frames)


def open_recorder(
    run_dir: Path,
    *,
    algorithm: str,
    model: str,
    settings: Mapping[str, object],
    configuration: Mapping[str, object],
    capture: Capture = "default",
    capture_text: CaptureText | None = None,
    record_all_ranks: bool = False,
) -> Recorder:
    """A recorder that knows how the trainer was set up; on ranks that do not record it is a silent one."""
    return Recorder(
        run_dir,
        algorithm=algorithm,
        model=model,
        framework="trl",
        settings=settings,
        config=configuration,
        metadata=metadata_of(algorithm),
        capture=capture,
        capture_text=capture_text,
        record_all_ranks=record_all_ranks,
    )


def halt(recorder: Recorder, step: int, control: Control, seconds: float = 1.0) -> None:
    """Have the trainer save and stop if it is asked to; with several processes all of them after the same step."""
    if recorder.should_stop_after(step, seconds):
        control.should_training_stop = control.should_save = True


def mapping(value: object) -> Mapping[str, object]:
    """The value if it is a mapping, else an empty one."""
    return value if isinstance(value, Mapping) else {}
