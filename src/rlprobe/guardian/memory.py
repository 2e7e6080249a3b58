"""What the guardian has told and done, so that its own restart repeats nothing.

One small JSON file beside each run, or one for all runs; replaced whole by rename. Read with the types below, so that
a damaged or foreign file counts as none.
"""

import hashlib
import os
from pathlib import Path

import msgspec

from rlprobe.recording.files import replace_bytes
from rlprobe.recording.run import Run

SCHEMA = "rlprobe.watch-state/1"
BESIDE = ".rlprobe-watch"  # no ending of a log, so that nothing takes it for one
_MOST_BYTES = 16 << 20
_MOST_MESSAGES = 1000  # times of messages that are kept


class Told(msgspec.Struct, kw_only=True):
    """One finding as it was last told; `alerted` is the severity that a message covered, "" for none."""

    id: str
    subject: str | None
    severity: str
    detected: int
    active: bool
    alerted: str = ""
    group: int = -1  # number of the message that told it first: what came together recovers together


class RunMemory(msgspec.Struct, kw_only=True):
    """What is remembered of one run.

    Attributes:
        origin: tells this run from another one under the same path.
        told: finding's name -> as it was told.
        judged: last step judged; None before the first.
        rewinds: how often training had gone back.
        rows, grown: rows of the run, and when they last grew (seconds since 1970, the guardian's clock).
        usual_seconds: usual time between two rows; 0 while unknown.
        silent: whether the present silence was told.
        ranks: numbers of ranks whose loss was told.
        end: the end that was told, "" while the run goes on.
        messages: when messages were sent, newest last.
        halts: episodes for which a halt was asked, or would have been.
    """

    origin: str = ""
    told: dict[str, Told] = {}
    judged: int | None = None
    rewinds: int = 0
    rows: int = 0
    grown: float = 0.0
    usual_seconds: float = 0.0
    silent: bool = False
    ranks: list[int] = []
    end: str = ""
    messages: list[float] = []
    halts: list[str] = []

    def message_sent(self, now: float) -> None:
        """Note that a message goes out."""
        self.messages = [*self.messages[-_MOST_MESSAGES:], now]


class _Document(msgspec.Struct, kw_only=True):
    schema: str
    runs: dict[str, RunMemory]


class Store:
    """Where memories are kept.

    Args:
        path: one file for all runs; None keeps each beside its run.

    Attributes:
        problem: why nothing can be kept, "" while it can.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._all: dict[str, RunMemory] | None = None
        self.problem = ""

    def load(self, source: str) -> RunMemory | None:
        """What is remembered of the run, None when nothing is."""
        return self._read(source).get(_key(source))

    def save(self, source: str, memory: RunMemory) -> None:
        """Keep it; a disk that refuses is no reason to stop watching."""
        runs = self._read(source) if self._path is not None else {}
        runs[_key(source)] = memory
        target = self._target(source)
        try:
            replace_bytes(target, msgspec.json.encode(_Document(schema=SCHEMA, runs=runs)))
            self.problem = ""
        except OSError as error:
            self.problem = (
                f"{target}: expected a file that can be written, got {error.strerror}. "
                "After a restart alerts are told again; name a file with --state."
            )

    def _read(self, source: str) -> dict[str, RunMemory]:
        if self._path is None:
            return _runs(self._target(source))
        if self._all is None:
            self._all = _runs(self._path)
        return self._all

    def _target(self, source: str) -> Path:
        return self._path if self._path is not None else beside(Path(source))


def beside(source: Path) -> Path:
    """The file of a run's memory: hidden in its folder, or beside its log."""
    return source / BESIDE if source.is_dir() else source.with_name(f".{source.name}{BESIDE}")


def origin(run: Run) -> str:
    """What tells this run from another one under the same path: its id, or its first row; "" before that is whole."""
    if run.manifest.run_id:
        return run.manifest.run_id
    if run.complete == 0:
        return ""
    first = [(name, repr(float(run.column(name)[0]))) for name in sorted(run.metrics) if run.logged(name)[0]]
    return hashlib.sha256(repr((int(run.steps[0]), first)).encode()).hexdigest()[:16]


def _runs(path: Path) -> dict[str, RunMemory]:
    try:
        if path.stat().st_size > _MOST_BYTES:
            return {}
        document = msgspec.json.decode(path.read_bytes(), type=_Document)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return document.runs if document.schema == SCHEMA else {}


def _key(source: str) -> str:
    return os.path.abspath(source).encode("utf-8", "backslashreplace").decode()  # a name may hold what is no UTF-8
