"""The live page on a terminal: redrawn in place, with the last news under it; the final page when it is over."""

from collections import deque
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.text import Text

from rlprobe.doctor.finding import Diagnosis
from rlprobe.guardian import page
from rlprobe.guardian.guard import Guard
from rlprobe.guardian.news import News, line
from rlprobe.guardian.telling import local_time
from rlprobe.reports.format import plain

_KEPT_NEWS = 40


class LivePage:
    """Shows a watch on a terminal; a context manager, so that the terminal is given back whatever happens.

    Args:
        console: where to draw.
        several: whether a folder is watched.
        final: writes the page of a single run's last diagnosis.
        clock: how the time of news is told.
    """

    def __init__(
        self,
        console: Console,
        *,
        several: bool,
        final: Callable[[Diagnosis], None],
        clock: Callable[[float], str] = local_time,
    ) -> None:
        self._console, self._several, self._final, self._clock = console, several, final, clock
        self._news: deque[str] = deque(maxlen=_KEPT_NEWS)
        self._live = Live(console=console, auto_refresh=False, vertical_overflow="crop")

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def tell(self, news: News, now: float) -> None:
        """Keep it for the lines under the page."""
        self._news.append(line(news, several=self._several, clock=self._clock(now)).rstrip("\n"))

    def show(self, guards: Sequence[Guard], now: float, *, waits: str) -> None:
        """Draw how things stand."""
        height = self._console.size.height - 1
        news = tuple(self._news)
        if not guards:
            self._live.update(Text(plain(f"Waiting: {waits}")), refresh=True)
        elif self._several and len(guards) > 1:
            self._live.update(page.several(guards, now, height=height, news=news, waits=waits), refresh=True)
        else:
            self._live.update(page.single(guards[0], now, height=height, news=news, waits=waits), refresh=True)

    def end(self, diagnoses: Sequence[Diagnosis], now: float) -> None:
        """Give the terminal back and write the final page."""
        self._live.stop()
        if not self._several and diagnoses:
            self._final(diagnoses[0])
