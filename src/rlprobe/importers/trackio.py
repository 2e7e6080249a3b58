"""Trackio: the SQLite database of a project, `$TRACKIO_DIR/PROJECT.db`.

Written by trackio 0.43 (schema read from its `sqlite_storage.py`); older versions know a run by its name alone. Metrics
are JSON objects in which NaN and infinities are words; `step` counts log calls unless the trainer gave one. A database
holds all runs of a project: the one that was written to last is read, or run N in the order in which they began.
"""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Final

from rlprobe.importers.binary.sqlite import MAGIC, Database, Value
from rlprobe.importers.rows.aside import Aside
from rlprobe.importers.rows.calls import CALLS, CallCount
from rlprobe.importers.rows.configuration import kept
from rlprobe.importers.rows.decode import Row, decode, row_of
from rlprobe.importers.rows.feed import RowFeed
from rlprobe.importers.rows.several import chosen, listed_runs
from rlprobe.recording.run import Feed

NAME = "trackio"
EXPECTS = "Trackio: the database of a project (PROJECT.db)"
BINARY = True

_COLUMNS: Final = frozenset({"timestamp", "run_name", "step", "metrics"})
_MAX_RUNS: Final = 10_000


def sniff(path: Path, head: bytes) -> bool:
    """Whether the file is a database with Trackio's table of metrics."""
    return head.startswith(MAGIC) and Database(path).tables().get("metrics", frozenset()) >= _COLUMNS


def read(path: Path, keys: Mapping[str, str] | None = None, run: int | None = None) -> Feed:
    """The feed of one run of the project."""
    aside = Aside()
    return RowFeed(str(path), NAME, _Rows(path, run, aside), keys, None, aside)


class _Rows:
    def __init__(self, path: Path, run: int | None, aside: Aside) -> None:
        self._database = Database(path)
        tables = self._database.tables()
        self._id = "run_id" if "run_id" in tables.get("metrics", frozenset()) else "run_name"
        self._last = 0
        self._bad_rows = 0
        self._disorder = False
        self._calls = CallCount()
        self.settings: Mapping[str, object] = {}
        runs = self._database.rows(
            f"SELECT {self._id}, run_name, MAX(rowid), COUNT(*) FROM metrics GROUP BY 1 ORDER BY MIN(rowid) LIMIT ?",
            (_MAX_RUNS,),
        )
        self._run: Value = None
        self.notes: tuple[str, ...] = ()
        place = chosen([_number(last) for _, _, last, _ in runs], run)
        if place is not None:
            self._run = runs[place][0]
            aside.run_id = str(runs[place][1])
            self.notes = listed_runs([f"{name!s}, {count!s} rows" for _, name, _, count in runs], place)
            if "configs" in tables:
                aside.configuration.update(self._configuration())

    @property
    def unreadable(self) -> int:
        """Rows that were no JSON objects, and queries that the file could not answer."""
        return self._bad_rows + self._disorder + self._database.failures

    def take(self, limit: int) -> list[Row]:
        """The next rows."""
        rows: list[Row] = []
        while not rows and not self._disorder:
            found = self._database.rows(
                f"SELECT rowid, timestamp, step, metrics FROM metrics WHERE {self._id} = ? AND rowid > ? "
                "ORDER BY rowid LIMIT ?",
                (self._run, self._last, limit),
            )
            if not found:
                break
            for place, time, step, text in found:
                if not isinstance(place, int) or place <= self._last:  # a damaged tree has no order
                    self._disorder = True
                    return rows
                self._last = place
                row = row_of(decode(_bytes(text)))
                if row is None:
                    self._bad_rows += 1
                    continue
                rows.append(self._calls.settle({CALLS: step, "_timestamp": _seconds(time), **row}))
        return rows

    def _configuration(self) -> dict[str, object]:
        rows = self._database.rows(f"SELECT config FROM configs WHERE {self._id} = ? LIMIT 1", (self._run,))
        flat = row_of(decode(_bytes(rows[0][0]))) if rows else None
        return kept({key: value for key, value in (flat or {}).items() if not key.startswith("_")})


def _bytes(value: Value) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")


def _number(value: Value) -> int:
    return value if isinstance(value, int) else 0


def _seconds(time: Value) -> float | None:
    try:
        return datetime.fromisoformat(str(time)).timestamp()
    except (ValueError, OverflowError):
        return None
