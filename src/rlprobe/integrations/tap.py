"""`tap()`: what a training program hands to other loggers is recorded as well, with no change to the program.

A logger that is imported, or was, has its logging method wrapped (tap_loggers.py); the first number that goes through
opens the recording. Several loggers of one run do not double it: a key belongs to the logger that first brought it.
Whatever fails here is told once, and training goes on.
"""

import logging
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakSet, ref

from rlprobe.integrations.guard import HookGuard
from rlprobe.integrations.import_hooks import forget, when_imported
from rlprobe.integrations.tap_frameworks import FRAMEWORKS
from rlprobe.integrations.tap_loggers import LOGGERS
from rlprobe.integrations.tap_places import HALT, RUN, TELL, default_run_dir, halt_of
from rlprobe.integrations.wrapping import Wraps

if TYPE_CHECKING:
    from rlprobe.integrations.tap_recording import Recording

log = logging.getLogger("rlprobe")

_current: "list[Tap]" = []


def tap(run_dir: str | Path | None = None, *, tell: Sequence[str] = (), halt: bool | str | Path = False) -> "Tap":
    """Record what goes to wandb, TensorBoard, Trackio, MLflow, SwanLab, a HF Trainer's callbacks or a framework's log.

    Call it before or after those are imported or started. A second call gives the tap that is there.

    Args:
        run_dir: directory of the recording; None makes one in `runs/`, named after the program and the time. Under
            `rlprobe run` that command's directory is taken.
        tell: loggers into which findings are written back: "wandb", "tensorboard", "trackio". Starts a
            `rlprobe watch` beside training.
        halt: True starts `rlprobe watch RUN --halt` beside training. Where it asks for a halt, a Trainer of
            transformers stops with a checkpoint; any other loop that does not ask `should_stop` is interrupted as by
            Ctrl-C. A path names the doctor.toml with the policy.

    Returns:
        The tap; `close()` it to end the recording early, or let the end of the process do it.

    Raises:
        ValueError: tell names a logger that findings cannot be written to.
    """
    asked = tell or os.environ.get(TELL, "").split()
    names = _checked(asked) if asked else ()
    if _current:
        return _current[0]
    chosen = Path(os.environ.get(RUN) or run_dir or default_run_dir())
    opened = Tap(chosen, tell=names, halt=halt or halt_of(os.environ.get(HALT, "")))
    _current.append(opened)
    return opened


def _checked(tell: Sequence[str]) -> tuple[str, ...]:
    from rlprobe.integrations.telling import checked  # few ask for it, and every process would pay

    return checked(tell)


def _in_child(forked: "Tap | None") -> None:
    """The thread that held the lock, if one did, is not in the child."""
    if forked is not None:
        forked._lock = threading.RLock()


class Tap:
    """The wrapped loggers of this process, and the recording that they fill.

    Args:
        run_dir: directory of the recording.
        tell: loggers into which findings are written back.
        halt: whether a halt is asked for and passed on, as `tap` has it.

    Attributes:
        writers: the TensorBoard writers that were written to.
    """

    def __init__(self, run_dir: Path, *, tell: Sequence[str] = (), halt: bool | str | Path = False) -> None:
        self.run_dir = run_dir
        self._halt = halt
        self._guard = HookGuard(self._report)
        self._wraps = Wraps(self._guard)
        self._lock = threading.RLock()
        self._tell = tell
        self.writers: WeakSet[object] = WeakSet()
        self._opened: Recording | None = None
        self._installers = [
            (module, self._installer(names, install)) for module, names, install in (*LOGGERS, *FRAMEWORKS)
        ]
        for module, installer in self._installers:
            when_imported(module, installer)
        if hasattr(os, "register_at_fork"):
            own = ref(self)
            os.register_at_fork(after_in_child=lambda: _in_child(own()))

    def take(
        self,
        source: str,
        row: Mapping[str, object],
        *,
        step: object = None,
        count: object = None,
        run: str = "",
        config: Callable[[], Mapping[str, object]] | None = None,
        folder: str = "",
        axis: str = "",
    ) -> bool:
        """Record a row that a logger was handed.

        Args:
            source: the logger's name.
            row: foreign key -> value; what is no number is left out.
            step: the step that the caller named; whatever is no whole number counts as none.
            count: the logger's own count of rows, for callers that name none.
            run: the logger's name of the run; another one after `finished` begins another recording.
            config: gives the configuration of the run; called once.
            folder: where the logger writes the row: one key of two folders is two metrics.
            axis: the key whose values the user made the steps; "" where he made none so.

        Returns:
            Whether the row's run is the one that is recorded: of two at once it is the first.
        """
        with self._lock:
            return self._recording.take(
                source, row, step=step, count=count, run=run, config=config, folder=folder, axis=axis
            )

    def take_samples(
        self, source: str, step: object, rows: Sequence[Mapping[str, object]], *, count: object = None
    ) -> None:
        """Record samples that a logger was handed as a table."""
        with self._lock:
            self._recording.take_samples(source, step, rows, count=count)

    def describe(self, source: str, configuration: Mapping[str, object], run: str = "") -> None:
        """Add to the run's configuration; `run` is the logger's name of it."""
        with self._lock:
            self._recording.describe(source, configuration, run)

    def finished(self, source: str, run: str = "", config: Callable[[], Mapping[str, object]] | None = None) -> None:
        """A logger's run ended: what was told to be told is told, since the logger will not take it afterwards.

        Args:
            source: the logger's name.
            run: its name of the run; one that is not recorded may end as it likes.
            config: gives the configuration of the run as it is at its end.
        """
        with self._lock:
            self._recording.finished(source, run, config)

    @property
    def should_stop(self) -> bool:
        """Whether a guardian asks training to stop. Cheap; a loop that asks is not interrupted."""
        with self._lock:
            return self._recording.should_stop

    def stops_after(self, step: int) -> bool:
        """Whether training stops after this step: for a trainer that asks in every process at the end of each."""
        with self._lock:
            return self._recording.stops_after(step)

    @property
    def made(self) -> list[Path]:
        """The directories that this process recorded into so far."""
        return [] if self._opened is None else self._opened.made

    def close(self) -> None:
        """Give the loggers their methods back and close the recording. A second call does nothing."""
        for _, installer in self._installers:
            forget(installer)
        self._wraps.undo()
        with self._lock:
            if self._opened is not None:
                self._opened.close()
        if self in _current:
            _current.remove(self)

    def _installer(self, names: str, install: Callable[["Tap", Wraps, object], None]) -> Callable[[object], None]:
        def installer(module: object) -> None:
            if not all(callable(vars(module).get(name)) for name in names.split()):
                log.debug("rlprobe: %s is no logger that the tap knows", module)
                return
            with self._guard(f"wrapping {getattr(module, '__name__', '')}"):
                install(self, self._wraps, module)

        return installer

    @property
    def _recording(self) -> "Recording":
        """Made by the first row: until then a process that logs nothing loads nothing."""
        if self._opened is None:
            from rlprobe.integrations.tap_recording import Recording

            self._opened = Recording(self.run_dir, tell=self._tell, writers=lambda: list(self.writers), halt=self._halt)
        return self._opened

    def _report(self, hook: str, kind: str, message: str, frames: str) -> None:
        self._recording.failed(hook, kind, message, frames)
