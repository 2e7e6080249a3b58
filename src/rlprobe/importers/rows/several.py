"""Which of several runs in one place is read, and the note that says so."""

from collections.abc import Sequence
from typing import Final

_MAX_LISTED: Final = 12


def chosen(latest: Sequence[float], run: int | None) -> int | None:
    """The index of run N, counted from 1, or of the run that was written to last; None when there is no such run.

    Args:
        latest: when each run was written to last, in the order in which the runs are counted.
    """
    if run is not None:
        return run - 1 if run <= len(latest) else None
    return max(range(len(latest)), key=lambda index: (latest[index], index), default=None)


def listed_runs(names: Sequence[str], taken: int) -> tuple[str, ...]:
    """One sentence that lists the runs and says which is read; none for a single run."""
    if len(names) < 2:
        return ()
    shown = "; ".join(f"{index}: {name}" for index, name in enumerate(names[:_MAX_LISTED], 1))
    more = f"; and {len(names) - _MAX_LISTED} more" if len(names) > _MAX_LISTED else ""
    return (f"{len(names)} runs are here ({shown}{more}); run {taken + 1} is read.",)
