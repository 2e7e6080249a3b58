"""How a watch is shown where there is no terminal page: plain lines, or lines of JSON."""

import time
from collections.abc import Callable, Sequence
from typing import Protocol

from rlprobe.doctor.finding import Diagnosis
from rlprobe.guardian.guard import Guard
from rlprobe.guardian.news import News, ending, line, record


class Teller(Protocol):
    """Shows what a watch finds."""

    def tell(self, news: News, now: float) -> None:
        """Something happened."""
        ...

    def show(self, guards: Sequence[Guard], now: float, *, waits: str) -> None:
        """How things stand after a round."""
        ...

    def end(self, diagnoses: Sequence[Diagnosis], now: float) -> None:
        """The watch is over."""
        ...


class Lines:
    """One line for each thing that happened, and the final page of a single run.

    Args:
        write: takes text.
        several: whether lines name their run.
        page: a diagnosis as the last page; None for none.
        clock: how the time is told; None leaves it out.
    """

    def __init__(
        self,
        write: Callable[[str], None],
        *,
        several: bool,
        page: Callable[[Diagnosis], str] | None,
        clock: Callable[[float], str] | None = None,
    ) -> None:
        self._write, self._several, self._page = write, several, page
        self._clock = local_time if clock is None else clock

    def tell(self, news: News, now: float) -> None:
        """Write the line."""
        self._write(line(news, several=self._several, clock=self._clock(now)))

    def show(self, guards: Sequence[Guard], now: float, *, waits: str) -> None:
        """Nothing: lines tell changes."""

    def end(self, diagnoses: Sequence[Diagnosis], now: float) -> None:
        """Write the final page."""
        if self._page is not None and len(diagnoses) == 1:
            self._write("\n" + self._page(diagnoses[0]))


class JsonLines:
    """One JSON object a line; the last ones hold the diagnoses."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write

    def tell(self, news: News, now: float) -> None:
        """Write the object."""
        self._write(record(news, now))

    def show(self, guards: Sequence[Guard], now: float, *, waits: str) -> None:
        """Nothing: lines tell changes."""

    def end(self, diagnoses: Sequence[Diagnosis], now: float) -> None:
        """Write every diagnosis."""
        for diagnosis in diagnoses:
            self._write(ending(diagnosis, now))


def local_time(now: float) -> str:
    """Time of day where the watch runs."""
    return time.strftime("%H:%M:%S", time.localtime(now))
