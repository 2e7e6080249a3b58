"""At which step a logger's row belongs."""

from collections.abc import Mapping

from rlprobe.integrations.naming import own_step


class Clock:
    """The step of one logger's rows.

    A step that the caller names is the row's, and the logger counts on from it. Where rows carry one of the trainer's,
    the logger's own count says nothing, and a row without one belongs to the step before it. An axis that the user
    defined goes before all: what he names as the step is then the logger's own count.
    """

    def __init__(self) -> None:
        self._last: int | None = None
        self._axis = ""
        self._carried = False  # the last step came with its row

    def step(self, row: Mapping[str, object], named: object, count: object, axis: str = "") -> int:
        """The step of a row.

        Args:
            row: flat; a trainer's own step may be in it.
            named: what the caller named as the step.
            count: the logger's own count of rows.
            axis: the key of rows whose whole numbers are steps, from here on; "" for the one that was told before.
        """
        self._axis = axis or self._axis
        if (at := own_step(row, self._axis)) is not None:
            self._last, self._carried = at, True
        if at is not None or (self._axis and self._carried):
            return self._last or 0
        step = _whole(named)
        if step is None and (own := own_step(row)) is not None:
            self._last, self._carried = own, True
            return own
        if step is None and not self._carried:
            step = _whole(count)
        if step is not None:
            self._last, self._carried = step, False
        return self._last or 0


def _whole(step: object) -> int | None:
    """A step, also as a number of numpy or torch; None for what is none."""
    try:
        return None if step is None or isinstance(step, str | bytes) else int(step)  # type: ignore[call-overload]  # whatever has __int__
    except Exception:  # a foreign object's own code ran; the logger has told of it
        return None
