"""Runs to watch: the one that was named, once it is there, or every run under a folder, those to come included."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rlprobe.importers import reader_of_folder
from rlprobe.importers.folders.choice import candidates
from rlprobe.opening import UnreadableSource, open_run
from rlprobe.recording.reader import UnreadableRecording, is_recording
from rlprobe.recording.run import Run

_SCAN_EVERY = 10.0  # seconds at least between two looks through a folder
_SCAN_SHARE = 50.0  # times its own duration that a look through a folder waits for the next
_OPENING = 0.5  # seconds that may pass in opening runs before those that are open are looked at again


@dataclass(slots=True)
class One:
    """The run or log that was named; it need not exist yet.

    Attributes:
        waits: why it cannot be opened yet, in one line; "" once it is open.
        pending: whether more is still to be opened: never.
    """

    path: Path
    keys: Mapping[str, str] = field(default_factory=dict)
    which: int | None = None
    waits: str = ""
    pending: bool = False
    _open: bool = False

    def fresh(self) -> Iterator[Run]:
        """The run, the first time that it can be opened.

        Raises:
            UnreadableRecording: it is of a newer format version: waiting would not help.
        """
        if self._open:
            return
        try:
            run = open_run(self.path, keys=self.keys, run=self.which)
        except (UnreadableSource, FileNotFoundError) as error:
            if isinstance(error.__cause__, UnreadableRecording):
                raise error.__cause__ from None
            self.waits = str(error)
            return
        self.waits, self._open = "", True
        yield run

    def again(self, source: str) -> None:
        """Open it anew when asked next."""
        self._open = False


@dataclass(slots=True)
class Many:
    """Every run under a folder.

    Attributes:
        waits: what is waited for while there is none.
        pending: whether runs that were found are still to be opened.
        cut: whether the folder holds more than is looked through.
    """

    root: Path
    keys: Mapping[str, str] = field(default_factory=dict)
    waits: str = ""
    pending: bool = False
    cut: bool = False
    _known: set[Path] = field(default_factory=set)
    _found: list[Path] = field(default_factory=list)
    _next: float = 0.0

    def fresh(self) -> Iterator[Run]:
        """Runs that are not watched yet, as many as can be opened in half a second."""
        began = time.monotonic()
        if began >= self._next:
            self._scan(began)
        while self._found and time.monotonic() - began < _OPENING:
            path = self._found.pop(0)
            try:
                run = open_run(path, keys=self.keys)
            except (UnreadableSource, UnreadableRecording, OSError):
                continue  # no rows yet, or damaged: looked at again with the next scan
            self._known.add(path)
            yield run
        self.pending = bool(self._found)
        self.waits = "" if self._known else f"{self.root}: no run with rows here yet."

    def again(self, source: str) -> None:
        """Open a run anew when asked next."""
        self._known.discard(Path(source))

    def _scan(self, now: float) -> None:
        found, self.cut = candidates(self.root)
        self._found = [one.path for one in found if one.path not in self._known]
        self._next = time.monotonic() + max(_SCAN_EVERY, _SCAN_SHARE * (time.monotonic() - now))


def sources(path: Path, keys: Mapping[str, str], which: int | None) -> One | Many | None:
    """What a path names: one run, or a folder of runs; None for an empty folder, which may become either."""
    if which is not None or not path.is_dir() or is_recording(path) or reader_of_folder(path) is not None:
        return One(path, keys, which)
    return Many(path, keys) if any(path.iterdir()) else None
