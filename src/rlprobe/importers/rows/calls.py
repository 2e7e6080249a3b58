"""The count of log calls that trackers keep: a step only where it is the trainer's or the log has no other.

verl hands its step to the tracker; transformers logs its own beside a count that goes its own way.
"""

from typing import Final

from rlprobe.importers.rows.decode import Row
from rlprobe.importers.rows.steps import STEP_KEYS, step_of

CALLS: Final = "_step"
_OWN: Final = tuple(key for key in STEP_KEYS if key != CALLS)


class CallCount:
    """Takes the count out of rows once it differed from the trainer's own step.

    A row without that step then belongs to the step before it.
    """

    def __init__(self) -> None:
        self._differs = False

    def settle(self, row: Row) -> Row:
        """The row, with at most one kind of step."""
        if not self._differs:
            own = step_of(row, tuple(key for key in _OWN if key in row))
            self._differs = own is not None and CALLS in row and step_of(row, (CALLS,)) != own
        if self._differs:
            row.pop(CALLS, None)
        return row
