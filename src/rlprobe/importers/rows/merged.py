"""Rows of several files of one run as one log, in the order of their steps."""

import heapq
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from rlprobe.importers.rows.decode import Row
from rlprobe.importers.rows.json_rows import JsonRows
from rlprobe.importers.rows.steps import STEP_KEYS, step_of

_BLOCK: Final = 4096


class MergedRows:
    """The rows of files that processes of one run write side by side; rows of one step follow each other.

    Args:
        files: the files that are there now; asked again whenever the rows so far are used up.
    """

    def __init__(self, files: Callable[[], list[Path]]) -> None:
        self._files = files
        self._sources: dict[Path, JsonRows] = {}
        self._rows: Iterator[Row] | None = None
        self._given = 0
        self.settings: Mapping[str, object] = {}

    @property
    def unreadable(self) -> int:
        """Lines of all files that were no JSON objects."""
        return sum(each.unreadable for each in self._sources.values())

    @property
    def notes(self) -> tuple[str, ...]:
        """Which files were merged, and what each of them tells."""
        merged = f"{', '.join(path.name for path in self._sources)} of {len(self._sources)} folders are merged by step."
        return ((merged,) if len(self._sources) > 1 else ()) + tuple(
            note for each in self._sources.values() for note in each.notes
        )

    def take(self, limit: int) -> list[Row]:
        """The next rows."""
        if self._rows is None:
            for path in self._files():
                self._sources.setdefault(path, JsonRows(path))
            self._rows = heapq.merge(*map(_stepped, self._sources.values()), key=lambda row: _step(row))
        rows = []
        for row in self._rows:
            rows.append(row)
            if len(rows) >= limit:
                return rows
        self._rows = None
        return rows


def _stepped(source: JsonRows) -> Iterator[Row]:
    """The rows of a file; one without a step takes that of the row before it."""
    last = 0
    while rows := source.take(_BLOCK):
        for row in rows:
            step = step_of(row, tuple(key for key in STEP_KEYS if key in row))
            last = last if step is None else step
            yield row if step is not None else {"step": last, **row}


def _step(row: Row) -> int:
    return step_of(row, tuple(key for key in STEP_KEYS if key in row)) or 0
