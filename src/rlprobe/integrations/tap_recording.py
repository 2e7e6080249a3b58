"""The recording that a tap fills: which row goes where, under which names and at which step."""

import atexit
import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from rlprobe.integrations.naming import Naming, bare, flat, own_step, settings_in
from rlprobe.integrations.tap_places import sibling_names
from rlprobe.integrations.telling import Telling, Writers
from rlprobe.recorder import lifelines
from rlprobe.recorder.ranks import current_rank
from rlprobe.recorder.recorder import Recorder, RunInUse

log = logging.getLogger("rlprobe")

_MAX_OWNED = 8192  # keys whose owner is remembered
Configuration = Mapping[str, object]


class _Clock:
    """The step of one logger's rows.

    A step that the caller names is the row's. Where rows carry one of the trainer's, the logger's own count says
    nothing, and a row without one belongs to the step before it.
    """

    def __init__(self) -> None:
        self._last: int | None = None

    def step(self, row: Mapping[str, object], named: int | None, count: int | None) -> int:
        own = own_step(row) if named is None else int(named)
        if own is not None:
            self._last = own
            return own
        if self._last is not None:
            return self._last
        return 0 if count is None else count


class Recording:
    """One run after another into directories of one name.

    Args:
        run_dir: directory of the first; another run, or another process, gets a number behind the name.
        tell: loggers into which findings are written back.
        writers: gives the TensorBoard writers of this process.
    """

    def __init__(self, run_dir: Path, *, tell: Sequence[str], writers: Writers) -> None:
        self._run_dir, self._tell, self._writers = run_dir, tell, writers
        self._used: set[Path] = set()
        self._silent = False  # for good: this process does not record
        self._begin()

    def _begin(self) -> None:
        self._recorder: Recorder | None = None
        self._telling: Telling | None = None
        self._naming = Naming()
        self._clocks: dict[str, _Clock] = {}
        self._owners: dict[str, str] = {}
        self._configuration: dict[str, object] = {}
        self._asked: set[str] = set()  # loggers whose configuration is known
        self._ended: dict[str, str] = {}  # logger -> the run of it that ended
        self._facts = ("", "")
        self._over = False  # until another run begins

    def take(
        self,
        source: str,
        row: Mapping[str, object],
        *,
        step: int | None,
        count: int | None,
        run: str,
        config: Callable[[], Configuration] | None,
    ) -> None:
        """Record a row."""
        if self._silent:
            return
        if self._ended.get(source, run) != run:
            self.close()
            self._begin()
        if self._over:
            return
        given = flat(row)
        at = self._clocks.setdefault(source, _Clock()).step(given, step, count)
        metrics = self._naming.canonical({key: value for key, value in given.items() if self._owns(source, key)})
        if not metrics:
            return
        if config is not None and source not in self._asked:
            self._asked.add(source)
            self.describe(source, config())
        if self._open():
            self._tell_facts()
            self._recorder.log_step(at, metrics)  # type: ignore[union-attr]  # it is open
            if self._telling is not None:
                self._telling.tell()

    def take_samples(
        self, source: str, step: int | None, rows: Sequence[Mapping[str, object]], *, count: int | None
    ) -> None:
        """Record samples at the step that the logger's rows are at."""
        if rows and not self._silent and not self._over and self._open():
            at = self._clocks.setdefault(source, _Clock()).step({}, step, count)
            self._recorder.log_samples(at, rows)  # type: ignore[union-attr]  # it is open

    def describe(self, source: str, configuration: Configuration) -> None:
        """Add to the configuration what a logger knows of it."""
        self._asked.add(source)
        self._configuration.update(configuration)
        if self._recorder is not None:
            self._recorder.describe(config=self._configuration, settings=settings_in(self._configuration))

    def finished(self, source: str, run: str) -> None:
        """A logger's run ended."""
        if self._recorder is None:
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
            self._silent = True
            return False
        self._recorder = self._first_free()
        if self._tell:
            self._telling = Telling(self._recorder.run_dir, self._tell, writers=self._writers)
            self._telling.start()
            atexit.register(self.close)  # before wandb's own end, which was registered earlier
        log.info("rlprobe: recording into %s", self._recorder.run_dir)
        return True

    def _first_free(self) -> Recorder:
        """A recorder into the first directory of the name that no other process and no earlier run has.

        Raises:
            RecorderError: none can be written.
        """
        told: Exception | None = None
        for path in sibling_names(self._run_dir):
            if path in self._used:
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
