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
from weakref import WeakSet

from rlprobe.integrations.guard import HookGuard
from rlprobe.integrations.import_hooks import forget, when_imported
from rlprobe.integrations.tap_frameworks import FRAMEWORKS
from rlprobe.integrations.tap_loggers import LOGGERS
from rlprobe.integrations.tap_places import RUN, TELL, default_run_dir
from rlprobe.integrations.wrapping import Wraps

if TYPE_CHECKING:
    from rlprobe.integrations.tap_recording import Recording

log = logging.getLogger("rlprobe")

_current: "list[Tap]" = []


def tap(run_dir: str | Path | None = None, *, tell: Sequence[str] = ()) -> "Tap":
    """Record what goes to wandb, TensorBoard, Trackio, MLflow, SwanLab, a HF Trainer's callbacks or a framework's log.

    Call it before or after those are imported or started. A second call gives the tap that is there.

    Args:
        run_dir: directory of the recording; None makes one in `runs/`, named after the program and the time. Under
            `rlprobe run` that command's directory is taken.
        tell: loggers into which findings are written back: "wandb", "tensorboard", "trackio". Starts a
            `rlprobe watch` beside training.

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
    opened = Tap(chosen, tell=names)
    _current.append(opened)
    return opened


def _checked(tell: Sequence[str]) -> tuple[str, ...]:
    from rlprobe.integrations.telling import checked  # few ask for it, and every process would pay

    return checked(tell)


class Tap:
    """The wrapped loggers of this process, and the recording that they fill.

    Args:
        run_dir: directory of the recording.
        tell: loggers into which findings are written back.

    Attributes:
        writers: the TensorBoard writers that were written to.
    """

    def __init__(self, run_dir: Path, *, tell: Sequence[str] = ()) -> None:
        self.run_dir = run_dir
        self._guard = HookGuard(self._report)
        self._wraps = Wraps(self._guard)
        self._lock = threading.RLock()
        self._tell = tell
        self.writers: WeakSet[object] = WeakSet()
        self._opened: Recording | None = None
        self._installers = [(module, self._installer(install)) for module, install in (*LOGGERS, *FRAMEWORKS)]
        for module, installer in self._installers:
            when_imported(module, installer)

    def take(
        self,
        source: str,
        row: Mapping[str, object],
        *,
        step: int | None = None,
        count: int | None = None,
        run: str = "",
        config: Callable[[], Mapping[str, object]] | None = None,
    ) -> None:
        """Record a row that a logger was handed.

        Args:
            source: the logger's name.
            row: foreign key -> value; what is no number is left out.
            step: the step that the caller named.
            count: the logger's own count of rows, for callers that name none.
            run: the logger's name of the run; another one after `finished` begins another recording.
            config: gives the configuration of the run; called once.
        """
        with self._lock:
            self._recording.take(source, row, step=step, count=count, run=run, config=config)

    def take_samples(
        self, source: str, step: int | None, rows: Sequence[Mapping[str, object]], *, count: int | None = None
    ) -> None:
        """Record samples that a logger was handed as a table."""
        with self._lock:
            self._recording.take_samples(source, step, rows, count=count)

    def describe(self, source: str, configuration: Mapping[str, object]) -> None:
        """Add to the run's configuration."""
        with self._lock:
            self._recording.describe(source, configuration)

    def finished(self, source: str, run: str = "") -> None:
        """A logger's run ended: what was told to be told is told, since the logger will not take it afterwards."""
        with self._lock:
            self._recording.finished(source, run)

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

    def _installer(self, install: Callable[["Tap", Wraps, object], None]) -> Callable[[object], None]:
        def installer(module: object) -> None:
            with self._guard(f"wrapping {getattr(module, '__name__', '')}"):
                install(self, self._wraps, module)

        return installer

    @property
    def _recording(self) -> "Recording":
        """Made by the first row: until then a process that logs nothing loads nothing."""
        if self._opened is None:
            from rlprobe.integrations.tap_recording import Recording

            self._opened = Recording(self.run_dir, tell=self._tell, writers=lambda: list(self.writers))
        return self._opened

    def _report(self, hook: str, kind: str, message: str, frames: str) -> None:
        self._recording.failed(hook, kind, message, frames)
