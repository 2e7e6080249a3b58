"""Rows out of single numbers, for logs that write every metric on its own: (time, step, key, value)."""

import heapq
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from rlprobe.importers.rows.decode import Row


@dataclass(frozen=True, slots=True, order=True)
class Point:
    """One logged number; `time` is in seconds since 1970."""

    time: float
    step: int
    key: str
    value: float


class PointRows:
    """Joins points that follow each other and share a step; where a key comes again, a new row of the step begins.

    Args:
        streams: the new points of every file or table, a stream each; asked again whenever the last ones are used up.
    """

    def __init__(self, streams: Callable[[], Iterable[Iterator[Point]]]) -> None:
        self._streams = streams
        self._points: Iterator[Point] | None = None
        self._row: Row = {}

    def take(self, limit: int) -> list[Row]:
        """The next rows, streams merged by time. The row of the newest step is handed out as far as it is there."""
        rows: list[Row] = []
        if self._points is None:
            self._points = heapq.merge(*self._streams(), key=lambda point: (point.time, point.step))
        for point in self._points:
            if self._row and (self._row["step"] != point.step or point.key in self._row):
                rows.append(self._row)
                self._row = {}
            if not self._row:
                self._row = {"step": point.step, "wall_time": point.time}
            self._row[point.key] = point.value
            if len(rows) >= limit:
                return rows
        self._points = None
        if self._row:
            rows.append(self._row)
            self._row = {}
        return rows
