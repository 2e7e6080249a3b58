"""The recording that a tap fills: which row goes where, under which names and at which step."""

import atexit
import json
import logging
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from rlprobe.integrations.beside import Guardian
from rlprobe.integrations.naming import Naming, bare, flat, settings_in
from rlprobe.integrations.tap_clock import Clock
from rlprobe.integrations.tap_halting import Halting
from rlprobe.integrations.tap_places import First, sibling_names
from rlprobe.integrations.telling import Telling, Writers
from rlprobe.recorder import lifelines
from rlprobe.recorder.environment import REDACTED
from rlprobe.recorder.ranks import current_rank
from rlprobe.recorder.recorder import Recorder, RunInUse

log = logging.getLogger("rlprobe")

_MAX_OWNED = 8192  # keys whose owner is remembered
Configuration = Mapping[str, object]
Halt = bool | str | Path  # a path names the doctor.toml with the policy


class Recording:
    """One run after another into directories of one name.

    Args:
        run_dir: directory of the first; another run, or another process, gets a number behind the name.
        tell: loggers into which findings are written back.
        writers: gives the TensorBoard writers of this process.
        halt: whether a watch beside training asks for a halt, and a loop that does not ask is interrupted.

    Attributes:
        made: the directories that this process recorded into.
    """

    def __init__(self, run_dir: Path, *, tell: Sequence[str], writers: Writers, halt: Halt = False) -> None:
        self._run_dir, self._tell, self._writers, self._halt = run_dir, tell, writers, halt
        self.made: list[Path] = []
        self._used: set[Path] = set()
        self._silent = False  # for good: this process does not record
        self._pid = os.getpid()
        self._begin()

    def _begin(self) -> None:
        self._recorder: Recorder | None = None
        self._halting = Halting(self._run_dir, interrupt=self._halt is not False)
        self._telling: Telling | None = None
        self._naming = Naming()
        self._clocks: dict[str, Clock] = {}
        self._owners: dict[str, str] = {}
        self._folders: dict[str, str] = {}  # key -> the folder that first brought it
        self._configuration: dict[str, object] = {}
        self._asked: set[str] = set()  # loggers whose configuration is known
        self._runs: dict[str, str] = {}  # logger -> the run of it that is recorded
        self._told: set[str] = set()  # loggers with a run beside that
        self._ended: dict[str, str] = {}  # logger -> the run of it that ended
        self._facts = ("", "")
        self._over = False  # until another run begins

    def take(
        self,
        source: str,
        row: Mapping[str, object],
        *,
        step: object,
        count: object,
        run: str,
        config: Callable[[], Configuration] | None,
        folder: str = "",
        axis: str = "",
    ) -> bool:
        """Record a row; whether it is one of the run that is recorded."""
        self._leave_the_parents()
        if self._silent or not self._is_recorded(source, run):
            return False
        given = flat(row)
        if folder:
            given = {self._apart(key, folder): value for key, value in given.items()}
        at = self._clocks.setdefault(source, Clock()).step(given, step, count, axis)
        metrics = self._naming.canonical({key: value for key, value in given.items() if self._owns(source, key)})
        if not metrics:
            return True
        if config is not None and source not in self._asked:
            self._asked.add(source)
            self.describe(source, config())
        if self._open():
            self._tell_facts()
            self._recorder.log_step(at, metrics)  # type: ignore[union-attr]  # it is open
            if self._telling is not None:
                self._telling.tell()
            self._halting.after_row(self._recorder)  # type: ignore[arg-type]  # it is open
        return True

    def _begin_another(self, source: str, run: str) -> None:
        """Another run of a logger, after the recorded one has ended, is another recording."""
        if run and self._ended.get(source, run) != run:
            self.close()
            self._begin()

    def _leave_the_parents(self) -> None:
        """In a forked child: the parent goes on with its recording, and what is logged here is another process's."""
        if self._pid != os.getpid():
            self._pid, self.made = os.getpid(), []
            self._begin()

    def _is_recorded(self, source: str, run: str) -> bool:
        """Whether a logger's run is the one that is recorded."""
        self._begin_another(source, run)
        mine = self._runs.setdefault(source, run) == run
        if not mine and source not in self._told:
            self._told.add(source)
            log.warning("rlprobe: %s has two runs at once in this process; the first alone is recorded", source)
        return mine and not self._over

    @property
    def should_stop(self) -> bool:
        """Whether a guardian asks training to stop."""
        return self._halting.asked(self._recorder)

    def stops_after(self, step: int) -> bool:
        """Whether a trainer that asks in every process stops after this step."""
        return not self._silent and self._halting.after_step(self._recorder, step)

    def take_samples(self, source: str, step: object, rows: Sequence[Mapping[str, object]], *, count: object) -> None:
        """Record samples at the step that the logger's rows are at."""
        if rows and not self._silent and not self._over and self._open():
            at = self._clocks.setdefault(source, Clock()).step({}, step, count)
            self._recorder.log_samples(at, rows)  # type: ignore[union-attr]  # it is open

    def describe(self, source: str, configuration: Configuration, run: str = "") -> None:
        """Add to the configuration what a logger knows of it; nothing of a run beside the one that is recorded."""
        self._begin_another(source, run)
        if run and self._runs.get(source, run) != run:
            return
        self._asked.add(source)
        self._configuration.update(configuration)
        if self._recorder is not None:
            self._recorder.describe(config=self._configuration, settings=settings_in(self._configuration))

    def finished(self, source: str, run: str, config: Callable[[], Configuration] | None = None) -> None:
        """A logger's run ended."""
        self._leave_the_parents()
        if self._runs.get(source, run) != run:
            return
        if config is not None:
            self.describe(source, config())
        if self._recorder is None:
            self._runs.pop(source, None)
            return
        self._ended[source] = run
        if self._telling is not None and self._telling.speaks_to(source):
            self.close()
            self._over = True
        else:
            self._recorder.flush()

    def close(self) -> None:
        """Close the recording."""
        recorder, telling, self._recorder, self._telling = self._recorder, self._telling, None, None
        if recorder is not None:
            recorder.close()
        if telling is not None:
            telling.tell_the_end()
            atexit.unregister(self.close)

    def failed(self, hook: str, kind: str, message: str, frames: str) -> None:
        """Keep the failure of a hook."""
        if self._recorder is not None:
            self._recorder.log_event("bad_hook", hook=hook, error=kind, message=message, traceback=frames)

    def _apart(self, key: str, folder: str) -> str:
        """The key; behind the name of its folder where another folder brought it first."""
        first = self._folders.get(key, folder)
        if len(self._folders) < _MAX_OWNED:
            self._folders.setdefault(key, first)
        if first == folder:
            return key
        between = os.path.relpath(folder, first).replace(f"..{os.sep}", "")
        return f"{os.path.basename(folder) if between == '..' else between}/{key}"

    def _owns(self, source: str, key: str) -> bool:
        """Whether this logger is the first that brought the key."""
        name = bare(key)
        owner = self._owners.get(name)
        if owner is None and len(self._owners) < _MAX_OWNED:
            self._owners[name] = owner = source
        return owner is None or owner == source

    def _open(self) -> bool:
        """Whether there is a recorder to write to, opened now if need be."""
        if self._recorder is not None:
            return True
        if current_rank() != 0 or lifelines.live():
            reason = "another recorder of this process records already" if lifelines.live() else "this is not rank 0"
            log.info("rlprobe: the tap stays out: %s", reason)
            if self._halt is not False and lifelines.live():
                log.warning("rlprobe: the tap's halt does nothing here: the recorder of this process has its own")
            self._silent = True
            return False
        self._recorder = self._first_free()
        self.made.append(self._recorder.run_dir)
        _close_in_a_worker(self._recorder)
        if self._tell or self._halt is not False:
            self._watch(self._recorder)
        log.info("rlprobe: recording into %s", self._recorder.run_dir)
        return True

    def _watch(self, recorder: Recorder) -> None:
        """Start a watch beside training."""
        config = None if isinstance(self._halt, bool) else Path(self._halt)
        halt = self._halt is not False
        watch: Guardian | Telling = Guardian(recorder.run_dir, config)
        if self._tell:
            watch = self._telling = Telling(
                recorder.run_dir, self._tell, writers=self._writers, halt=halt, config=config
            )
            atexit.register(self.close)  # before wandb's own end, which was registered earlier
        watch.act_at_once(recorder)
        watch.start()

    def _first_free(self) -> Recorder:
        """A recorder into the first directory of the name that no other process, program and earlier run has.

        Raises:
            RecorderError: none can be written.
        """
        told: Exception | None = None
        for path in sibling_names(self._run_dir):
            if path in self._used or _made_by_another_program(path):
                continue
            self._used.add(path)
            try:
                return Recorder(path, config=self._configuration, settings=settings_in(self._configuration))
            except RunInUse as error:
                told = error
        self._silent = True
        raise told or RuntimeError("no directory is left")

    def _tell_facts(self) -> None:
        facts = self._naming.framework, self._naming.algorithm
        if self._recorder is not None and (self._naming.news() or facts != self._facts):
            self._facts = facts
            self._recorder.describe(
                framework=facts[0] or None, algorithm=facts[1] or None, metadata=self._naming.metadata
            )


def _close_in_a_worker(recorder: Recorder) -> None:
    """Close at the end of a process that multiprocessing forked: it runs finalizers of its own, and no atexit."""
    process, util = sys.modules.get("multiprocessing.process"), sys.modules.get("multiprocessing.util")
    if process is None or util is None or process.parent_process() is None:
        return

    def close() -> None:
        error = sys.exc_info()[1]
        if error is not None and not isinstance(error, SystemExit):
            lifelines.tell_crash(error, "main")
            recorder.mark_crashed()
        recorder.close()

    util.Finalize(None, close, exitpriority=0)


def _made_by_another_program(run_dir: Path) -> bool:
    """Whether other words than this program's recorded there since `rlprobe run` began: a script's earlier program.

    The same words again are a launcher's second try, which goes on with the recording.
    """
    first, manifest = First.read(), run_dir / "manifest.json"
    try:
        if not first.pid or manifest.stat().st_mtime_ns <= first.before:
            return False
        words = json.loads(manifest.read_bytes())["environment"]["command"]
        return len(words) != len(sys.argv) or any(
            theirs != ours and REDACTED not in theirs for theirs, ours in zip(words, sys.argv, strict=True)
        )
    except (OSError, ValueError, LookupError, TypeError):  # none there, or it does not say
        return False
