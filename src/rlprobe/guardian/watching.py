"""The watch itself: opens runs as they come, looks at each, tells, sends, remembers, and ends when they end."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from rlprobe.doctor.configuration import DEFAULT as DEFAULT_DOCTOR
from rlprobe.doctor.configuration import Configuration
from rlprobe.doctor.finding import Diagnosis
from rlprobe.guardian.channels import Channel
from rlprobe.guardian.guard import Guard, Halting
from rlprobe.guardian.memory import Store
from rlprobe.guardian.news import News
from rlprobe.guardian.replaying import ReplayFeed, moments
from rlprobe.guardian.settings import DEFAULT, GuardianSettings
from rlprobe.guardian.sources import Many, One, sources
from rlprobe.guardian.telling import Teller
from rlprobe.recording.run import Run

LAST_MESSAGES = 20.0  # seconds that the end of a watch waits for messages to leave
_OVER_EVERY = 15.0  # seconds between two looks at a run that is over, in a folder of runs
_MOST_FAILURES = 3  # errors of our own on one run, after which it is left alone
_KEPT_EVERY = 60.0  # seconds after which the memory is written even when nothing was told


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How to watch.

    Attributes:
        once: look once and end, as cron wants it.
        interval: seconds between two rounds.
        parent: process that the watch must not outlive, None for none.
        keep: whether the memory outlives the watch.
    """

    settings: GuardianSettings = DEFAULT
    configuration: Configuration = DEFAULT_DOCTOR
    halting: Halting = "dry"
    once: bool = False
    interval: float = 1.0
    parent: int | None = None
    keep: bool = True


@dataclass(slots=True)
class _Place:
    """One run's place in the watch."""

    guard: Guard
    next: float = 0.0
    kept: float = 0.0
    quiet: bool = False  # it was over when it was first seen in a folder: shown, and not told


@dataclass(slots=True)
class Watch:
    """A watch over one source or a folder.

    Args:
        find: names the source again until there is one; see `sources`.
        plan: how to watch.
        teller: shows what is found.
        channels: where messages go.
        store: what earlier watches told.
        clock: seconds since 1970.
        sleep: waits, in seconds.
    """

    find: Callable[[], One | Many | None]
    plan: Plan
    teller: Teller
    channels: Sequence[Channel] = ()
    store: Store = field(default_factory=Store)
    clock: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep
    _source: One | Many | None = None
    _places: dict[str, _Place] = field(default_factory=dict)
    _failures: dict[str, int] = field(default_factory=dict)
    _told: set[str] = field(default_factory=set)

    def run(self) -> list[Diagnosis]:
        """Watch until the end; the last diagnosis of every run."""
        try:
            while not self.round():
                self.sleep(0.0 if self.plan.once else self.plan.interval)
        finally:
            now = self.clock()
            for place in self._places.values():
                self._keep(place, now, always=True)
            for channel in self.channels:
                channel.close(LAST_MESSAGES)
        diagnoses = self.diagnoses
        self.teller.end(diagnoses, self.clock())
        return diagnoses

    @property
    def diagnoses(self) -> list[Diagnosis]:
        """The newest diagnosis of every run."""
        return [place.guard.diagnosis for place in self._places.values()]

    @property
    def waits(self) -> str:
        """What is waited for, "" when a run is there."""
        if self._source is None:
            return "nothing is there yet."
        return self._source.waits

    def trouble(self, text: str) -> None:
        """Tell of the guardian's own trouble, once."""
        self._once(News(kind="trouble", text=text))

    def round(self) -> bool:
        """One round; whether it was the last."""
        orphan = self.plan.parent is not None and os.getppid() != self.plan.parent
        if self._source is None:
            self._source = self.find()
        for run in self._fresh():
            try:
                self._admit(run)
            except Exception as error:  # as in _look
                self._failed(run.source, error)
        if self.waits and not self._places:
            self._once(News(kind="waiting", text=f"Waiting: {self.waits}"))
        for place in list(self._places.values()):
            if self.clock() >= place.next or orphan:
                self._look(place)
        now = self.clock()
        self.teller.show([place.guard for place in self._places.values()], now, waits=self.waits)
        ended = isinstance(self._source, One) and any(place.guard.over(now) for place in self._places.values())
        pending = self._source is not None and self._source.pending
        return (self.plan.once and not pending) or ended or orphan

    def _fresh(self) -> Iterator[Run]:
        return iter(()) if self._source is None else self._source.fresh()

    def _admit(self, run: Run) -> None:
        """Take a run into the watch."""
        now = self.clock()
        memory = self.store.load(run.source) if self.plan.keep else None
        before = self._places.get(run.source)
        if before is not None:  # opened anew after an error of our own
            memory = before.guard.memory
        plan = self.plan
        guard = Guard(
            run,
            plan.settings,
            memory,
            configuration=plan.configuration,
            halting=plan.halting,
            speaks=bool(self.channels),
            now=now,
        )
        quiet = isinstance(self._source, Many) and memory is None and guard.over(now)
        self._places[run.source] = _Place(guard=guard, quiet=quiet)
        if before is None and not plan.once and not quiet:
            facts = f"{run.manifest.format}, {run.rows} rows"
            self.teller.tell(News(kind="opened", text=f"Watching {run.source} ({facts}).", run=run.source), now)

    def _look(self, place: _Place) -> None:
        now, guard = self.clock(), place.guard
        source = guard.run.source
        try:
            look = guard.look(now)
        except Exception as error:  # our own fault, in a night that nobody watches: told once, and the run opened anew
            self._failed(source, error)
            return
        over = guard.over(now)
        place.next = now + (_OVER_EVERY if over else self.plan.interval)
        if place.quiet:
            place.quiet = over
            return
        for news in look.news:
            if news.kind != "known" or not self.plan.once:
                self.teller.tell(news, now)
        if guard.dirty:
            self._keep(
                place, now, always=True
            )  # before anything is sent: what is sent twice is worse than what is lost
        for message in look.messages:
            for channel in self.channels:
                channel.send(message)
        self._keep(place, now, always=False)

    def _failed(self, source: str, error: Exception) -> None:
        """Open the run anew, with what was told; after a few failures leave it alone, or give up where it is all."""
        count = self._failures[source] = self._failures.get(source, 0) + 1
        single = isinstance(self._source, One)
        if single and (self.plan.once or count >= _MOST_FAILURES):
            raise error
        then = "it is opened anew" if count < _MOST_FAILURES else "it is left alone"
        self.trouble(f"{source}: internal error ({type(error).__name__}: {str(error)[:200]}); {then}.")
        if source in self._places:
            self._places[source].next = float("inf")
        if count < _MOST_FAILURES and self._source is not None:
            self._source.again(source)

    def _keep(self, place: _Place, now: float, *, always: bool) -> None:
        """Write the memory when something was told, and now and then for the pace."""
        guard = place.guard
        if not self.plan.keep or place.quiet or not (always or now - place.kept >= _KEPT_EVERY):
            return
        if not guard.dirty and now - place.kept < _KEPT_EVERY and not self.plan.once:
            return
        self.store.save(guard.run.source, guard.memory)
        guard.dirty, place.kept = False, now
        if self.store.problem:
            self.trouble(self.store.problem)

    def _once(self, news: News) -> None:
        if news.text not in self._told:
            self._told.add(news.text)
            self.teller.tell(news, self.clock())


def replay(
    run: Run,
    plan: Plan,
    teller: Teller,
    channels: Sequence[Channel] = (),
    *,
    speed: float | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> Guard:
    """Play a finished run as if it were live: nothing is remembered, and nobody is asked to halt.

    Args:
        run: the run as a whole.
        speed: None plays it as fast as it can be judged; 1 as fast as training was.
        sleep: how to wait, in seconds.

    Returns:
        The guard at the end of the run.
    """
    feed = ReplayFeed(run)
    guard: Guard | None = None
    now = 0.0
    for now, moment in moments(run, speed=speed, sleep=sleep):
        feed.reveal(moment)
        if guard is None:
            guard = _replayed(feed, plan, now, speaks=bool(channels))
        _tell(guard, teller, channels, now)
    feed.end()
    guard = guard or _replayed(feed, plan, now, speaks=bool(channels))
    _tell(guard, teller, channels, now)
    for channel in channels:
        channel.close(LAST_MESSAGES)
    teller.end([guard.diagnosis], now)
    return guard


def _replayed(feed: ReplayFeed, plan: Plan, now: float, *, speaks: bool) -> Guard:
    halting: Halting = "no" if plan.halting == "no" else "dry"
    return Guard(Run(feed), plan.settings, configuration=plan.configuration, halting=halting, speaks=speaks, now=now)


def _tell(guard: Guard, teller: Teller, channels: Sequence[Channel], now: float) -> None:
    look = guard.look(now)
    for news in look.news:
        teller.tell(news, now)
    for message in look.messages:
        for channel in channels:
            channel.send(message)
    teller.show([guard], now, waits="")


__all__ = ["LAST_MESSAGES", "Plan", "Watch", "replay", "sources"]
