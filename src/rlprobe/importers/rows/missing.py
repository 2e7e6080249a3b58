"""Which cells of a block were logged: nulls that stand for NaN, and numbers that only repeat.

*Null.* Some writers put null where a metric was NaN (verl's file logger, TRL since 1.0), others where a row has no such
metric (tables exported with the union of all keys). A null counts as a logged NaN only when all of this holds:
- the metric was a number in each of the `STREAK` rows before that logged training metrics at all, or such a NaN then;
- no more than half of the metrics of which that is true are null in the row (otherwise the row is another kind of row);
- no column of the log was null first and a number later (in a table with the union of all keys, columns are).
Null evaluation scores never count. So a metric that turns NaN is seen, and one that is logged now and then is not.

*Repeats.* A trainer that takes several updates on one rollout may log a row an update, each with the rollout's numbers
again. Where every one of those numbers repeats exactly, the repeat is no new measurement and does not count as logged.
"""

import sys
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Final

import numpy as np
from numpy.typing import NDArray

from rlprobe.importers.rows.plan import Target
from rlprobe.importers.rows.steps import is_training
from rlprobe.importers.rows.values import NULL, NUMBER
from rlprobe.recording.run import BoolArray, FloatArray

STREAK: Final = 3  # rows on end with a number before a null is read as NaN
_MAX_NULL_FIRST: Final = 4096  # columns remembered as null before any number
_NEVER: Final = sys.maxsize

States = Mapping[str, NDArray[np.uint8]]


class NullReader:
    """Tells nulls that stand for NaN from nulls that stand for nothing; carries what it knows over blocks."""

    def __init__(self) -> None:
        self._streaks: dict[str, int] = {}
        self._null_first: set[str] = set()
        self._numbers: set[str] = set()
        self._union = False

    def logged(
        self, states: States, null_only: AbstractSet[str], targets: Mapping[str, Target]
    ) -> dict[str, BoolArray]:
        """(n,) mask of what was logged, a column each.

        Args:
            states: (n,) states of the values, a column each.
            null_only: columns that are not among them because they were null wherever they stood.
            targets: what the columns are.
        """
        logged = {name: kinds == NUMBER for name, kinds in states.items()}
        names = [name for name in states if targets[name].known and is_training(name)]
        union_from = self._union_from(states, null_only, logged)
        trains = np.any([logged[name] for name in names], axis=0) if names else np.empty(0, dtype=bool)
        if union_from > 0 and any(np.any(states[name] == NULL) for name in names):
            self._walk(names, states, trains, union_from, logged)
        else:
            self._skip(names, trains, logged)
        return logged

    def _union_from(self, states: States, null_only: AbstractSet[str], logged: Mapping[str, BoolArray]) -> int:
        """The first row of the block from which the log is known to have the union of all keys."""
        if self._union:
            return 0
        if len(self._null_first) < _MAX_NULL_FIRST:
            self._null_first |= null_only - self._numbers
        first_rows = []
        for name in states.keys() - self._numbers:
            if not (numbers := np.flatnonzero(logged[name])).size:
                continue
            first = int(numbers[0])
            if name in self._null_first or np.any(states[name][:first] == NULL):
                first_rows.append(first)
            self._numbers.add(name)
        self._union = bool(first_rows)
        return min(first_rows, default=_NEVER)

    def _walk(
        self, names: list[str], states: States, trains: BoolArray, union_from: int, logged: dict[str, BoolArray]
    ) -> None:
        """Row by row, for blocks that hold a null."""
        for row in np.flatnonzero(trains):
            expected = [name for name, streak in self._streaks.items() if streak >= STREAK]
            gone = {name for name in expected if name in states and states[name][row] == NULL}
            if row >= union_from or 2 * len(gone) > len(expected):
                gone = set()
            for name in gone:
                logged[name][row] = True
            for name in {*names, *self._streaks} - gone:
                here = name in states and logged[name][row]
                self._streaks[name] = min(self._streaks.get(name, 0) + 1, STREAK) if here else 0

    def _skip(self, names: list[str], trains: BoolArray, logged: Mapping[str, BoolArray]) -> None:
        """The same streaks for a block in which no null can stand for NaN."""
        if not trains.any():
            return
        for name in self._streaks.keys() - set(names):
            self._streaks[name] = 0
        for name in names:
            of_training = logged[name][trains]
            gaps = np.flatnonzero(~of_training)
            before = 0 if gaps.size else self._streaks.get(name, 0)
            run = len(of_training) - 1 - int(gaps[-1]) if gaps.size else len(of_training)
            self._streaks[name] = min(before + run, STREAK)


def drop_repeats(
    numbers: Mapping[str, FloatArray],
    logged: Mapping[str, BoolArray],
    targets: Mapping[str, Target],
    last: dict[str, float],
) -> int:
    """Take the mark "logged" from rollout numbers that all repeat those of the row before; returns how many rows did.

    Args:
        last: the rollout numbers of the row before the block; holds those of the block's last row afterwards.
    """
    names = [name for name in numbers if targets[name].rollout]
    if len(names) < 2:  # one number alone repeats by chance or by being constant
        return 0
    repeat = np.ones(len(numbers[names[0]]), dtype=bool)
    for name in names:
        values = np.concatenate([[last.get(name, np.nan)], numbers[name]])
        repeat &= (values[1:] == values[:-1]) | (np.isnan(values[1:]) & np.isnan(values[:-1]))
        last[name] = float(values[-1])
    repeat &= np.any([numbers[name] == numbers[name] for name in names], axis=0)
    for name in names:
        logged[name][repeat] = False
    return int(np.count_nonzero(repeat))
