"""Steps of rows that are printed without one, from the progress bar beside them or by counting."""

import re
from dataclasses import dataclass
from typing import Final

from rlprobe.importers.rows.decode import Row
from rlprobe.importers.rows.values import NUMBER, number

# a bar without a description, as the trainer draws it: " 12%|#2   | 12/100 [00:05<00:45,  2.00it/s]"
_BAR = re.compile(r"(?:^|[\s\]])\d{1,3}%\|[^|]{0,400}\| *(\d{1,9})/(\d{1,9}) \[")
_STEP_KEYS: Final = frozenset({"step", "global_step", "global_step/max_steps"})
_EVALUATION: Final = "eval_"


@dataclass(frozen=True, slots=True)
class Bar:
    """What a progress bar shows."""

    done: int
    total: int


def bar_in(text: str) -> Bar | None:
    """The last bar in a text, None when it has none."""
    if "%|" not in text:
        return None
    found = _BAR.findall(text)
    return Bar(int(found[-1][0]), int(found[-1][1])) if found else None


class RowSteps:
    """Gives rows their steps.

    A row waits until the line after it is seen. A bar on both sides of it is its own: the step is what the bar behind
    shows. Rows in a bunch are counted, since their bars were written elsewhere or at another time.

    Attributes:
        interval: steps between two rows.
        counted: rows whose step was counted.
    """

    def __init__(self) -> None:
        self.interval = 1
        self.counted = 0
        self._last = 0
        self._pending: Row | None = None
        self._alone = False  # the pending row: whether a bar stood between it and the row before
        self._barred = False  # a bar stood since the last row
        self._hint: Bar | None = None
        self._epoch = 0.0

    @property
    def pending(self) -> bool:
        """Whether a row waits for its bar."""
        return self._pending is not None

    @property
    def bunched(self) -> bool:
        """Whether no bar has stood since the last row."""
        return not self._barred

    @property
    def notes(self) -> tuple[str, ...]:
        """How many steps were counted."""
        if not self.counted:
            return ()
        return (f"{self.counted} rows stand beside no progress bar; their steps are counted, {self.interval} a row.",)

    def row(self, row: Row, hint: Bar | None) -> list[Row]:
        """Take a row, which a bar precedes on its own line (or none does); the row before, if it was waiting."""
        made = self.flush()
        self._alone, self._barred = self._barred or hint is not None, False
        if not _STEP_KEYS.isdisjoint(row):
            return [*made, row]
        self._pending, self._hint = row, hint
        return made

    def bar(self, bar: Bar) -> list[Row]:
        """Take a bar; the row before it, if that was waiting for one."""
        row, self._pending, self._barred = self._pending, None, True
        if row is None:
            return []
        return [self._told(row, bar) if self._alone or not _trains(row) else self._count(row)]

    def flush(self) -> list[Row]:
        """The row that waits, though no bar followed it."""
        row, self._pending = self._pending, None
        if row is None:
            return []
        return [self._count(row) if self._hint is None else self._told(row, self._hint)]

    def _told(self, row: Row, bar: Bar) -> Row:
        if bar.done > self._last and _trains(row):
            self.interval = bar.done - self._last
        self._last = bar.done
        self._epoch = _epoch(row, self._epoch)
        return {"step": bar.done, **row}

    def _count(self, row: Row) -> Row:
        epoch = _epoch(row, self._epoch)
        if _trains(row):
            self.counted += 1
            back = epoch < self._epoch
            self._last = round(self._last * epoch / self._epoch) if back else self._last + self.interval
            self._last = max(self._last, self.interval)
        self._epoch = epoch
        return {"step": self._last, **row}


def _trains(row: Row) -> bool:
    return "train_runtime" not in row and not any(key.startswith(_EVALUATION) for key in row)


def _epoch(row: Row, otherwise: float) -> float:
    value, state = number(row.get("epoch"))
    return value if state == NUMBER and value >= 0 else otherwise
