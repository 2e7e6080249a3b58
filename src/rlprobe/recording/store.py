"""The columns of a Run. What came in bulk is kept as it came, and put together where a whole column is asked for."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from rlprobe.recording.batch import BoolArray, FloatArray

BULK = 4096  # rows of a batch that is kept as it came; smaller ones are entered into growing arrays
_LEAST_ROOM = 64
_NEVER = 1 << 62


@dataclass(frozen=True, slots=True)
class _Piece:
    """Consecutive rows as a batch brought them; NaN where nothing was logged."""

    first: int
    values: FloatArray
    logged: BoolArray


@dataclass(slots=True)
class _Column:
    """One metric: pieces for the rows before `start`, arrays with room to grow for those from `start` on."""

    start: int
    pieces: list[_Piece] = field(default_factory=list)
    values: FloatArray = field(default_factory=lambda: np.empty(0))
    logged: BoolArray = field(default_factory=lambda: np.empty(0, dtype=bool))
    begins: int = _NEVER  # first row that logged it

    def reserve(self, stop: int) -> None:
        """Make room for the rows before `stop`."""
        room = stop - self.start - len(self.values)
        if room > 0:
            room = max(room, len(self.values), _LEAST_ROOM)
            self.values = np.concatenate([self.values, np.full(room, np.nan)])
            self.logged = np.concatenate([self.logged, np.zeros(room, dtype=bool)])

    def part(self, first: int, stop: int) -> tuple[FloatArray, BoolArray]:
        """Values and mask of rows [first, stop): views where they lie together, else copies."""
        if first >= self.start:
            self.reserve(stop)
            own = slice(first - self.start, stop - self.start)
            return self.values[own], self.logged[own]
        values, logged = np.full(stop - first, np.nan), np.zeros(stop - first, dtype=bool)
        for piece in self.pieces:
            low, high = max(first, piece.first), min(stop, piece.first + len(piece.values))
            source = slice(low - piece.first, high - piece.first)
            if (low, high) == (first, stop):
                return piece.values[source], piece.logged[source]
            if low < high:
                values[low - first : high - first] = piece.values[source]
                logged[low - first : high - first] = piece.logged[source]
        if stop > self.start:
            rest = self.part(self.start, stop)
            values[self.start - first :], logged[self.start - first :] = rest
        return values, logged

    def unite(self, rows: int) -> None:
        """Put the pieces and the arrays together, for the rows before `rows` at least."""
        stop = max(rows, self.start + len(self.values))
        values, logged = self.part(0, stop)
        self.values, self.logged = values.copy(), logged.copy()
        self.start, self.pieces = 0, []


class Columns:
    """The columns of a Run by name. Rows are counted from the start of the run; who asks knows how many there are."""

    def __init__(self) -> None:
        self._columns: dict[str, _Column] = {}
        self._bulk = 0  # rows that lie in pieces

    def __len__(self) -> int:
        return len(self._columns)

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __contains__(self, name: str) -> bool:
        return name in self._columns

    def append(
        self, start: int, count: int, columns: Mapping[str, tuple[FloatArray, BoolArray]], *, whole: bool
    ) -> None:
        """Enter a batch of `count` rows from row `start` on; the last row of one that is not whole can still change."""
        if start < self._bulk:  # the last rows of what came in bulk are told anew
            self._unite()
        bulk = count if whole else count - 1
        if start == self._bulk and bulk >= BULK and all(len(one.values) == 0 for one in self._columns.values()):
            self._hold(start, bulk, columns)
            columns = {name: (values[bulk:], logged[bulk:]) for name, (values, logged) in columns.items()}
            start, count = start + bulk, count - bulk
        for name, (values, logged) in columns.items():
            column = self._column(name)
            where = np.flatnonzero(logged)
            if len(where):
                column.reserve(start + count)
                column.values[start - column.start + where] = values[where]
                column.logged[start - column.start + where] = True
                column.begins = min(column.begins, start + int(where[0]))

    def whole(self, name: str, rows: int) -> tuple[FloatArray, BoolArray]:
        """(rows,) values and logged mask of a column in one piece; nothing for one that is not there."""
        column = self._columns.get(name)
        if column is not None and column.start and not (column.pieces and len(column.pieces[0].values) >= rows):
            column.unite(rows)
        return self.part(name, 0, rows)

    def part(self, name: str, first: int, stop: int) -> tuple[FloatArray, BoolArray]:
        """(stop - first,) values and logged mask of some rows of a column; costs those rows alone."""
        column = self._columns.get(name)
        if column is None:
            return np.full(stop - first, np.nan), np.zeros(stop - first, dtype=bool)
        return column.part(first, stop)

    def copied(self, name: str, first: int, stop: int) -> tuple[FloatArray, BoolArray]:
        """The same as arrays of their own."""
        values, logged = self._columns[name].part(first, stop)
        return values.copy(), logged.copy()

    def begins(self, name: str) -> int:
        """The first row that logged the metric, beyond any run's last one where none did."""
        column = self._columns.get(name)
        return _NEVER if column is None else column.begins

    def forget(self, first: int, stop: int) -> None:
        """Leave out the rows [first, stop), the newest ones."""
        if first < self._bulk:
            self._unite()
        for column in self._columns.values():
            own = slice(first - column.start, stop - column.start)
            column.values[own], column.logged[own] = np.nan, False
            column.begins = column.begins if column.begins < first else _NEVER

    def _hold(self, start: int, count: int, columns: Mapping[str, tuple[FloatArray, BoolArray]]) -> None:
        for name, (values, logged) in columns.items():
            column, known = self._column(name), logged[:count]
            if known.any():
                kept = np.asarray(values[:count], dtype=np.float64)
                if not np.isnan(kept[~known]).all():
                    kept = np.where(known, kept, np.nan)
                column.pieces.append(_Piece(start, kept, known))
                column.begins = min(column.begins, start + int(np.argmax(known)))
        self._bulk = start + count
        for column in self._columns.values():
            column.start = self._bulk

    def _column(self, name: str) -> _Column:
        if name not in self._columns:
            self._columns[name] = _Column(self._bulk)
        return self._columns[name]

    def _unite(self) -> None:
        """Give every column arrays that begin with the first row."""
        for column in self._columns.values():
            column.unite(column.start)
        self._bulk = 0
