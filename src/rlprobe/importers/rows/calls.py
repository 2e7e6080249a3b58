"""The count of log calls that trackers keep: a step only where a log has none of the trainer's."""

from rlprobe.importers.rows.decode import Row
from rlprobe.importers.rows.steps import STEP_KEY_SET

CALLS = "_step"


class CallCount:
    """Takes the count out of rows once any row has told a step of the trainer's own.

    A row without that step then belongs to the step before it.
    """

    def __init__(self) -> None:
        self._own_steps = False

    def settle(self, row: Row) -> Row:
        """The row, with at most one kind of step."""
        self._own_steps = self._own_steps or not (STEP_KEY_SET - {CALLS}).isdisjoint(row)
        if self._own_steps:
            row.pop(CALLS, None)
        return row
