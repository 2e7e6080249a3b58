"""SQLite databases of others, read only and with bounds: no view, no trigger, no function of theirs is run.

Every query opens the file anew, so that nothing is locked between polls and a growing database is seen to grow.
"""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Final
from urllib.parse import quote

MAGIC: Final = b"SQLite format 3\0"
_MAX_VALUE: Final = 8 << 20  # bytes of one value
_MAX_TABLES: Final = 512
_OPERATIONS: Final = 1_000_000  # virtual machine steps between looks at the budget
_BUDGET: Final = 300  # such looks before a query is stopped
_WAL_VERSION: Final = 2

Value = int | float | str | bytes | None


class Database:
    """One database file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._unanswered: set[str] = set()

    @property
    def failures(self) -> int:
        """Queries that the file could not answer, each counted once: it is damaged, locked or gone."""
        return len(self._unanswered)

    def tables(self) -> dict[str, frozenset[str]]:
        """Plain tables and their columns."""
        found = {}
        rows = self.rows(f"SELECT name FROM sqlite_master WHERE type = 'table' LIMIT {_MAX_TABLES}")
        for (name,) in rows:
            columns = self.rows("SELECT name FROM pragma_table_info(?)", (name,))
            found[str(name)] = frozenset(str(column) for (column,) in columns)
        return found

    def rows(self, query: str, parameters: Sequence[Value] = ()) -> list[tuple[Value, ...]]:
        """The rows of a query; none where it fails."""
        try:
            with closing(self._connect()) as connection:
                return connection.execute(query, tuple(parameters)).fetchall()
        except (sqlite3.Error, sqlite3.Warning, OSError, OverflowError, UnicodeError, MemoryError):
            self._unanswered.add(query)
            return []

    def _connect(self) -> sqlite3.Connection:
        # a database in WAL mode without a WAL has no writer; opened as usual it would get new files beside it
        wal = Path(f"{self._path}-wal")
        quiet = self._in_wal_mode() and not wal.exists()
        connection = sqlite3.connect(
            f"file:{quote(str(self._path.absolute()))}?mode=ro{'&immutable=1' if quiet else ''}", uri=True, timeout=2.0
        )
        looks = iter(range(_BUDGET))
        connection.set_progress_handler(lambda: next(looks, None) is None, _OPERATIONS)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_VALUE)
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA query_only = ON")
        connection.text_factory = lambda data: data.decode("utf-8", "replace")
        return connection

    def _in_wal_mode(self) -> bool:
        with open(self._path, "rb") as file:
            return _WAL_VERSION in file.read(20)[18:20]
