"""TRL in one line: `attach(trainer, run_dir)` records everything that a trainer of TRL can show.

`RlprobeCallback(run_dir)` is the lesser form for `callbacks=[...]`, which sees only what the trainer logs.
"""

import functools
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from rlprobe.integrations.beside import Guardian
from rlprobe.integrations.guard import HookGuard
from rlprobe.integrations.telling import Telling, Writers
from rlprobe.integrations.telling_callback import TellCallback
from rlprobe.integrations.trl_callback import (
    AVAILABLE,
    INSTALL,
    Halted,
    RlprobeCallback,
    SessionCallback,
    StopCallback,
    open_recorder,
)
from rlprobe.integrations.trl_settings import describe
from rlprobe.integrations.wrapping import Wraps
from rlprobe.recorder.recorder import Recorder
from rlprobe.recorder.sample_rows import CaptureText
from rlprobe.recorder.sampling import CAPTURES, Capture

if TYPE_CHECKING:
    from rlprobe.integrations.trl_session import Session
    from rlprobe.integrations.trl_trainer import Trainer

__all__ = ["Attachment", "RlprobeCallback", "attach"]

_NEEDED = ("train", "state", "add_callback", "accelerator", "is_world_process_zero")  # what a trainer has


def attach(
    trainer: object,
    run_dir: str | Path,
    *,
    capture: Capture = "default",
    capture_text: CaptureText | None = None,
    halt: bool | str | Path = False,
    record_all_ranks: bool = False,
    tell: Sequence[str] = (),
) -> "Attachment":
    """Record a trainer of TRL into `run_dir`. Call it before `trainer.train()`.

    GRPO, RLOO, DPO, KTO, Online DPO and PPO with their samples (docs/trl.md); any other trainer that builds on
    transformers.Trainer by its steps, its own metrics, gradients and weights.
    Nothing is changed in what the trainer computes: logs and weights are bit-identical with and without.

    Args:
        trainer: the trainer, ready to train.
        run_dir: directory of the recording; one that exists is continued with a new segment.
        capture: "scalars" records metrics alone; "samples" also chosen samples of each step; "tokens" those with their
            per-token arrays; "default" the same within a budget; "all" every sample with its tokens.
        capture_text: whether the texts of samples are kept (True), hashed ("hash") or left out (False); None asks the
            environment: RLPROBE_CAPTURE_TEXT is yes, hash or no.
        halt: True starts `rlprobe watch RUN --halt` beside training: it tells what goes wrong, and asks training to
            halt where its policy allows it (docs/watching.md). A path names the doctor.toml with that policy.
        record_all_ranks: whether other ranks than 0 record too, each its own samples and times in a folder of its own.
        tell: loggers into which findings are written back: "wandb", "tensorboard", "trackio". Starts the same watch,
            which asks for a halt only where `halt` says so.

    Returns:
        The attachment; `close()` it when the run is over, or let the end of the process do it.

    Raises:
        TypeError: the trainer is none of those, or has been attached already.
        ValueError: capture is not one of those, or tell names a logger that findings cannot be written to.
        ImportError: TRL is not installed.
    """
    if not AVAILABLE:
        raise ImportError(f"attach: expected TRL to be installed, got no transformers. Run {INSTALL}.")
    if any(not hasattr(trainer, name) for name in _NEEDED):
        kind = type(trainer).__name__
        raise TypeError(f"attach: expected a trainer of TRL or transformers, got {kind}. Hand over the trainer itself.")
    if capture not in CAPTURES:
        raise ValueError(f"attach: expected capture to be one of {', '.join(CAPTURES)}, got {capture!r}. Choose one.")
    if getattr(trainer, "_rlprobe", None) is not None:
        raise TypeError("attach: expected a trainer without a recorder, got one that has it. Close the first one.")
    config = None if isinstance(halt, bool) else Path(halt)
    guardian: Guardian | Telling | None = None if halt is False else Guardian(Path(run_dir), config)
    telling = TellCallback(trainer) if tell else None
    if telling is not None:
        writers: Writers = partial(list, telling.writers)
        guardian = telling.telling = Telling(
            Path(run_dir), tell, writers=writers, halt=halt is not False, config=config
        )
    return Attachment(
        trainer,  # type: ignore[arg-type]  # it has what was asked for
        Path(run_dir),
        capture=capture,
        capture_text=capture_text,
        guardian=guardian,
        telling=telling,
        record_all_ranks=record_all_ranks,
    )


class Attachment:
    """A trainer and its recording; also a context manager that closes the recording.

    Attributes:
        recorder: for events and metrics of your own; None on ranks that do not record.
    """

    def __init__(
        self,
        trainer: "Trainer",
        run_dir: Path,
        *,
        capture: Capture,
        capture_text: CaptureText | None = None,
        guardian: Guardian | Telling | None = None,
        telling: TellCallback | None = None,
        record_all_ranks: bool = False,
    ) -> None:
        self._telling = telling
        self._trainer, self._run_dir, self._capture = trainer, run_dir, capture
        self._capture_text = capture_text
        self._all_ranks = record_all_ranks
        self._guardian = guardian if trainer.is_world_process_zero() else None
        self._guard = HookGuard(self._report)
        self.recorder: Recorder | None = None
        self._session: Session | None = None
        self._bare = Wraps(self._guard)  # of a rank that does not record
        self._callback: object = None
        self._trained = False
        if record_all_ranks or trainer.is_world_process_zero():
            self._open()
        else:
            self._callback = StopCallback(trainer, self._new_recorder(), self._guard)
            trainer.add_callback(self._callback)
            self._bare.replace(trainer, "train", _until_halted(trainer.train))  # type: ignore[attr-defined]  # every trainer has it

    def close(self) -> None:
        """Take the hooks off and close the recording. A second call does nothing."""
        if self._session is not None:
            self._session.watch.wraps.undo()
            self._session = None
        self._bare.undo()
        if self._callback is not None:
            self._trainer.remove_callback(self._callback)
            self._callback = None
        if self._telling is not None:
            self._trainer.remove_callback(self._telling)
        if self.recorder is not None:
            self.recorder.close()
            self.recorder = None
            if self._guardian is not None and self._trained:
                self._guardian.wait()

    def __enter__(self) -> "Attachment":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _open(self) -> None:
        from rlprobe.integrations.trl_session import Session  # needs torch, which importing rlprobe must not

        trainer = self._trainer
        self.recorder = self._new_recorder()
        self._session = Session(trainer, self.recorder, self._guard, capture=self._capture)
        with self._guard("installing hooks"):  # a trainer that is built otherwise is still recorded by what it logs
            self._session.watch.install()
        wraps = self._session.watch.wraps
        wraps.replace(trainer, "_rlprobe", self)
        wraps.replace(trainer, "train", self._watched_train(trainer))
        self._callback = SessionCallback(self._session, self._guard)
        trainer.add_callback(self._callback)
        if self._telling is not None and self._guardian is not None:
            trainer.add_callback(self._telling)
        for name in wraps.missing:
            self._report(name, "AttributeError", "this trainer has no such method", "")

    def _new_recorder(self) -> Recorder:
        about = describe(self._trainer)
        return open_recorder(
            self._run_dir,
            algorithm=about.algorithm,
            model=about.model,
            settings=about.settings,
            configuration=about.configuration,
            capture=self._capture,
            capture_text=self._capture_text,
            record_all_ranks=self._all_ranks,
        )

    def _watched_train(self, trainer: "Trainer") -> object:
        """train() that records what kills it, since no callback is called then. Each call is a segment of its own."""
        original = trainer.train  # type: ignore[attr-defined]  # every trainer has it

        def train(*args: object, **kwargs: object) -> object:
            with self._guard("before train"):
                self._begin()
            try:
                return original(*args, **kwargs)
            except Halted:
                with self._guard("halted"):
                    self._halted()
                return None
            except BaseException as error:
                with self._guard("crash"):
                    self._crashed(error)
                raise

        return train

    def _begin(self) -> None:
        if self._trained and self._session is not None and self.recorder is not None:
            self.recorder.close()
            self.recorder = self._session.recorder = self._new_recorder()
        self._trained = True
        if self._guardian is not None and self.recorder is not None:
            self._guardian.start()
            self._guardian.act_at_once(self.recorder)

    def _halted(self) -> None:
        """A loop that callbacks cannot stop was left after its halt was saved: nobody else tells its end."""
        if self._session is not None:
            self._session.train_ends(int(self._trainer.state.global_step))

    def _crashed(self, error: BaseException) -> None:
        """Record it and close: whoever catches the error may train again, in a new segment."""
        if self._session is not None and self.recorder is not None:
            self._session.crashed(error)
            self.recorder.close()

    def _report(self, hook: str, kind: str, message: str, frames: str) -> None:
        if self.recorder is not None:
            self.recorder.log_event("bad_hook", hook=hook, error=kind, message=message, traceback=frames)


def _until_halted(train: Callable[..., object]) -> Callable[..., object]:
    """train() of a rank that does not record: a halt that had to leave its loop ends it quietly."""

    @functools.wraps(train)
    def halted(*args: object, **kwargs: object) -> object:
        try:
            return train(*args, **kwargs)
        except Halted:
            return None

    return halted
