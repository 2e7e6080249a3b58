"""Which cells of a block were logged: nulls that stand for NaN, and numbers that only repeat.

*Null.* Some writers put null where a metric was NaN (verl's file logger, TRL since 1.0), others where a row has no such
metric (tables exported with the union of all keys). A null counts as a logged NaN only when the metric was a number
in each of the `STREAK` rows before it that logged training metrics at all, or was such a NaN in the row before; null
evaluation scores never do. So a metric that turns NaN is seen, and one that is logged now and then is not.

*Repeats.* A trainer that takes several updates on one rollout may log a row an update, each with the rollout's numbers
again. Where every one of those numbers repeats exactly, the repeat is no new measurement and does not count as logged.
"""

from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from rlprobe.importers.rows.plan import Target
from rlprobe.importers.rows.values import NULL, NUMBER
from rlprobe.recording.run import BoolArray, FloatArray

STREAK: Final = 3  # rows in a row with a number before a null is read as NaN
_ALWAYS = frozenset({"epoch", "wall_time", "learning_rate"})  # logged beside anything, so no sign of a training row


class NullReader:
    """Tells nulls that stand for NaN from nulls that stand for nothing; carries the streaks over blocks."""

    def __init__(self) -> None:
        self._streaks: dict[str, int] = {}

    def logged(
        self, states: Mapping[str, NDArray[np.uint8]], numbers: Mapping[str, FloatArray], targets: Mapping[str, Target]
    ) -> dict[str, BoolArray]:
        """(n,) mask of what was logged, a column each."""
        if not states:
            return {}
        logged = {name: kinds == NUMBER for name, kinds in states.items()}
        training = [mask for name, mask in logged.items() if targets[name].known and _is_training(name)]
        row_trains = np.any(training, axis=0) if training else np.zeros(len(next(iter(logged.values()))), dtype=bool)
        for name, kinds in states.items():
            if not targets[name].known or not _is_training(name):
                continue
            if np.any(kinds == NULL):
                self._walk(name, kinds, row_trains, logged[name])
            else:
                self._extend(name, logged[name], row_trains)
        return logged

    def _walk(self, name: str, kinds: NDArray[np.uint8], row_trains: BoolArray, logged: BoolArray) -> None:
        streak = self._streaks.get(name, 0)
        for row in np.flatnonzero(row_trains):
            if kinds[row] == NULL and streak >= STREAK:
                logged[row] = True
            else:
                streak = min(streak + 1, STREAK) if kinds[row] == NUMBER else 0
        self._streaks[name] = streak

    def _extend(self, name: str, logged: BoolArray, row_trains: BoolArray) -> None:
        of_training = logged[row_trains]
        if (gaps := np.flatnonzero(~of_training)).size:
            self._streaks[name] = min(len(of_training) - 1 - int(gaps[-1]), STREAK)
        else:
            self._streaks[name] = min(self._streaks.get(name, 0) + len(of_training), STREAK)


def _is_training(name: str) -> bool:
    return name not in _ALWAYS and not name.startswith("evaluation_score/")


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
