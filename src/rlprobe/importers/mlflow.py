"""MLflow: the tracking database (`mlflow.db`), and the folder of a run in a file store (`mlruns/EXPERIMENT/RUN`).

Written by mlflow 3.17 (`store/tracking/dbmodels/models.py`, `store/tracking/file_store.py`). Every metric is logged on
its own: rows are what follows each other with one step. Traps: the database holds NaN as 0 with `is_nan`, infinities as
the largest double; the file store has a file a metric, merged here by time; parameters are text. A database holds many
runs: the one that was written to last is read, or run N in the order in which they began.
"""

import math
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from rlprobe.importers.binary.sqlite import MAGIC, Database, Value
from rlprobe.importers.folders.listing import Walk, listed
from rlprobe.importers.rows.aside import Aside
from rlprobe.importers.rows.configuration import kept
from rlprobe.importers.rows.decode import Row
from rlprobe.importers.rows.feed import RowFeed
from rlprobe.importers.rows.lines import LineSource, raw_head_of
from rlprobe.importers.rows.points import Point, PointRows
from rlprobe.importers.rows.several import chosen, listed_runs
from rlprobe.importers.rows.yaml import flat_yaml, scalar
from rlprobe.recording.run import Feed, State

NAME = "mlflow"
EXPECTS = "MLflow: a tracking database (mlflow.db), or the folder of a run (mlruns/EXPERIMENT/RUN)"
BINARY = True

_METRICS: Final = frozenset({"key", "value", "timestamp", "run_uuid", "step", "is_nan"})
_MAX_RUNS: Final = 10_000
_MAX_PARAMETERS: Final = 2_000
_BLOCK: Final = 4096
_STATES: Final[Mapping[str, State]] = {
    "FINISHED": "closed",
    "FAILED": "crashed",
    "KILLED": "crashed",
    "RUNNING": "recording",
    "3": "closed",  # the file store numbers them
    "4": "crashed",
    "5": "crashed",
    "1": "recording",
}


def sniff(path: Path, head: bytes) -> bool:
    """Whether the file is a database with MLflow's table of metrics, or the folder one of a run."""
    if head:
        return head.startswith(MAGIC) and Database(path).tables().get("metrics", frozenset()) >= _METRICS
    if not path.is_dir():
        return False
    folder = listed(path)
    return "meta.yaml" in folder.files and "metrics" in folder.folders and "params" in folder.folders


def read(path: Path, keys: Mapping[str, str] | None = None, run: int | None = None) -> Feed:
    """The feed of one run."""
    aside = Aside()
    if path.is_dir():
        return RowFeed(str(path), NAME, _FileRows(path, aside), keys, run, aside)
    return RowFeed(str(path), NAME, _DatabaseRows(path, run, aside), keys, None, aside)


class _DatabaseRows:
    def __init__(self, path: Path, run: int | None, aside: Aside) -> None:
        self._database = Database(path)
        self._aside = aside
        self._last = 0
        self._bad_points = 0
        self._disorder = False
        self._rows = PointRows(lambda: [self._points()])
        self.settings: Mapping[str, object] = {}
        self._run: Value = None
        self.notes: tuple[str, ...] = ()
        runs = self._database.rows(
            "SELECT run_uuid, MAX(timestamp), COUNT(*) FROM metrics GROUP BY 1 ORDER BY MIN(rowid) LIMIT ?",
            (_MAX_RUNS,),
        )
        place = chosen([_float(last) for _, last, _ in runs], run)
        if place is not None:
            self._run = runs[place][0]
            aside.run_id = str(self._run)
            names = self._names() if len(runs) > 1 else {}
            told = [f"{names.get(uuid, uuid)!s}, {count!s} values" for uuid, _, count in runs]
            self.notes = listed_runs(told, place)
            self._look_aside()

    @property
    def unreadable(self) -> int:
        """Values that were none, and queries that the file could not answer."""
        return self._bad_points + self._disorder + self._database.failures

    def take(self, limit: int) -> list[Row]:
        """The next rows."""
        rows = self._rows.take(limit)
        if not rows:
            self._look_aside()
        return rows

    def _points(self) -> Iterator[Point]:
        while not self._disorder and (
            found := self._database.rows(
                "SELECT rowid, timestamp, step, key, value, is_nan FROM metrics WHERE run_uuid = ? AND rowid > ? "
                "ORDER BY rowid LIMIT ?",
                (self._run, self._last, _BLOCK),
            )
        ):
            for place, time, step, key, value, is_nan in found:
                if not isinstance(place, int) or place <= self._last:  # a damaged tree has no order
                    self._disorder = True
                    return
                self._last = place
                number = math.nan if is_nan else _float(value)
                if isinstance(step, int) and (is_nan or not math.isnan(number)):
                    number = math.copysign(math.inf, number) if abs(number) >= sys.float_info.max else number
                    yield Point(_float(time) / 1000, step, str(key), number)
                else:
                    self._bad_points += 1

    def _names(self) -> dict[Value, Value]:
        named = self._database.tables().get("runs", frozenset()) >= {"run_uuid", "name"}
        rows = self._database.rows("SELECT run_uuid, name FROM runs LIMIT ?", (_MAX_RUNS,)) if named else []
        return {uuid: name for uuid, name in rows}

    def _look_aside(self) -> None:
        tables = self._database.tables()
        if tables.get("params", frozenset()) >= {"key", "value", "run_uuid"}:
            query = "SELECT key, value FROM params WHERE run_uuid = ? LIMIT ?"
            parameters = self._database.rows(query, (self._run, _MAX_PARAMETERS))
            self._aside.configuration.update(kept({str(key): scalar(str(value)) for key, value in parameters}))
        if tables.get("runs", frozenset()) >= {"run_uuid", "status"}:
            for (status,) in self._database.rows("SELECT status FROM runs WHERE run_uuid = ?", (self._run,)):
                self._aside.state = _STATES.get(str(status), "unknown")


class _FileRows:
    def __init__(self, path: Path, aside: Aside) -> None:
        self._path = path
        self._aside = aside
        self._lines: dict[str, LineSource] = {}
        self._bad_lines = 0
        self._rows = PointRows(self._streams)
        self.settings: Mapping[str, object] = {}
        self.notes: tuple[str, ...] = ()
        self._look_aside()

    @property
    def unreadable(self) -> int:
        """Lines that are no `time value step`, an unfinished last one of each file included."""
        return self._bad_lines + sum(each.skipped + bool(each.tail.strip()) for each in self._lines.values())

    def take(self, limit: int) -> list[Row]:
        """The next rows."""
        rows = self._rows.take(limit)
        if not rows:
            self._look_aside()
        return rows

    def _streams(self) -> list[Iterator[Point]]:
        for key, path in _files_below(self._path / "metrics"):
            self._lines.setdefault(key, LineSource(path))
        return [self._points(key, lines) for key, lines in self._lines.items()]

    def _points(self, key: str, source: LineSource) -> Iterator[Point]:
        while lines := source.take(_BLOCK):
            for line in lines:
                try:
                    time, value, step, *_ = line.split()
                    yield Point(int(time) / 1000, int(step), key, float(value))
                except (ValueError, OverflowError):
                    self._bad_lines += 1

    def _look_aside(self) -> None:
        parameters = {}
        for key, path in _files_below(self._path / "params")[:_MAX_PARAMETERS]:
            parameters[key] = scalar(_text(path).strip())
        self._aside.configuration.update(kept(parameters))
        about = flat_yaml(_text(self._path / "meta.yaml"))
        self._aside.state = _STATES.get(str(about.get("status")), "unknown")
        self._aside.run_id = str(about.get("run_id", ""))


def _files_below(folder: Path) -> list[tuple[str, Path]]:
    """(key, path) of the files below a folder; the key is the path as MLflow's key has it."""
    found = []
    for each in Walk(folder):
        found += [((each.path / name).relative_to(folder).as_posix(), each.path / name) for name in each.files]
    return found


def _text(path: Path) -> str:
    try:
        return raw_head_of(path, 1 << 16).decode("utf-8", "replace")
    except OSError:
        return ""


def _float(value: Value) -> float:
    return float(value) if isinstance(value, int | float) else math.nan
