"""A guardian's halt in a program that is only tapped.

A Trainer of transformers is asked at the end of each step and stops in order, with a checkpoint. Any other loop belongs
to its program: it is told how it could ask, or interrupted as by Ctrl-C where the user wants that.
"""

import logging
import os
import signal
from pathlib import Path

from rlprobe.recorder.ranks import current_rank, world_size
from rlprobe.recorder.recorder import Recorder
from rlprobe.recording.layout import STOP

log = logging.getLogger("rlprobe")

_NOT_ASKED = (
    "rlprobe: a tap cannot stop this loop, and training goes on. Ask `rlprobe.tap().should_stop` in the loop, or start "
    "the program with `rlprobe run --halt -- ...`, which interrupts it."
)


class Halting:
    """Passes a halt on.

    Args:
        run_dir: the directory that every process of the run knows; rank 0 names the step of a halt there.
        interrupt: whether a loop that does not ask is interrupted.
    """

    def __init__(self, run_dir: Path, *, interrupt: bool) -> None:
        self._run_dir, self._interrupt = run_dir, interrupt
        self._asks = False  # the loop asks by itself
        self._due = False  # it was told to stop
        self._passed_on = False
        self._listener: Recorder | None = None  # of a rank that does not record
        self._stale: int | None = None  # when a stop that was meant for an earlier session was written

    def asked(self, recorder: Recorder | None) -> bool:
        """The answer to a loop that asks by itself."""
        self._asks = True
        return recorder is not None and recorder.should_stop

    def after_step(self, recorder: Recorder | None, step: int) -> bool:
        """Whether a trainer that asks in every process stops after this step."""
        if recorder is None and current_rank() != 0:
            recorder = self._listening()
        elsewhere = recorder is not None and recorder.run_dir != self._run_dir and world_size() > 1
        self._asks = not self._due and not elsewhere  # a loop that goes on does not listen; other ranks look elsewhere
        if recorder is None or not self._asks:
            return False
        self._due = recorder.should_stop_after(step)
        return self._due

    def _listening(self) -> Recorder | None:
        """What hears of rank 0's stop. Rank 0 records from its first row on: a stop that is there before, at the first
        step, is an earlier session's, and lies there until rank 0 begins.
        """
        if self._listener is None:
            self._listener, self._stale = Recorder(self._run_dir), _written(self._run_dir / STOP)
        if self._stale is not None and _written(self._run_dir / STOP) == self._stale:
            return None
        self._stale = None
        return self._listener

    def after_row(self, recorder: Recorder) -> None:
        """Pass the halt on to a loop that does not ask. Once."""
        if self._passed_on or self._asks or not recorder.should_stop:
            return
        self._passed_on = True
        if not self._interrupt:
            log.warning(_NOT_ASKED)
            return
        heard = callable(signal.getsignal(signal.SIGINT))  # a shell's background jobs ignore it
        number = signal.SIGINT if heard else signal.SIGTERM
        log.warning("rlprobe: the program is interrupted by %s, as --halt says", number.name)
        os.kill(os.getpid(), number)


def _written(path: Path) -> int | None:
    """When a file was last written, in nanoseconds; None where there is none."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return None
