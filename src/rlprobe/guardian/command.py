"""From the arguments of `rlprobe watch` to a watch or a replay on this terminal."""

import argparse
import math
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from rlprobe.doctor import configuration
from rlprobe.doctor.configuration import ConfigurationError
from rlprobe.doctor.finding import Diagnosis
from rlprobe.guardian import settings
from rlprobe.guardian.channels import Channel, ChannelError, open_channels
from rlprobe.guardian.memory import Store
from rlprobe.guardian.news import News
from rlprobe.guardian.sources import Many, One, sources
from rlprobe.guardian.telling import JsonLines, Lines, Teller
from rlprobe.guardian.watching import Plan, Watch, replay
from rlprobe.opening import UnreadableSource, open_run
from rlprobe.recording.reader import UnreadableRecording

REFUSALS = (ConfigurationError, ChannelError, UnreadableSource, UnreadableRecording)
ALERTS = "RLPROBE_ALERTS"  # notification URLs between blanks: other users do not see a variable, as they see arguments
WIDEST, WITHOUT_TERMINAL = 120, 100
TERMINATED = 143  # 128 + SIGTERM, as shells say it
NICE = 10  # how far a watch beside training steps back
_LEAST_INTERVAL, _MOST_INTERVAL = 0.05, 3600.0


def wrong_usage(args: argparse.Namespace) -> str:
    """What is wrong with the arguments, and what to do, as a sentence; "" when nothing is."""
    if args.show_config:
        return ""
    if args.source is None or args.source == "-":
        return "expected SOURCE, a run, a log or a folder."
    if args.speed is not None and not (args.replay and args.speed > 0 and math.isfinite(args.speed)):
        return f"expected --speed above 0, and --replay with it, got {args.speed}."
    if args.replay and (args.halt or args.once or args.state):
        return "expected --replay without --halt, --once and --state: a replay acts on nothing and keeps nothing."
    if not _LEAST_INTERVAL <= args.interval <= _MOST_INTERVAL:
        return f"expected --interval from {_LEAST_INTERVAL} to {_MOST_INTERVAL:g}, got {args.interval}."
    return ""


def execute(args: argparse.Namespace) -> list[Diagnosis]:
    """Watch or play what the arguments name; the last diagnosis of every run.

    Raises:
        ConfigurationError, ChannelError, UnreadableSource, UnreadableRecording: with one line for a person.
    """
    standing = [] if args.replay else os.environ.get(ALERTS, "").split()  # a replay sends where its own words say so
    channels = open_channels([*args.alert, *standing])
    plan = _plan(args, channels)
    if args.replay:
        run = open_run(args.source, keys=dict(args.keys), run=args.which)
        with _teller(args, several=False, replayed=True) as teller:
            for channel in channels:
                channel.trouble = lambda text: teller.tell(News(kind="trouble", text=text), 0.0)
            return [replay(run, plan, teller, channels, speed=args.speed).diagnosis]
    path = Path(args.source)
    if args.once:
        _check_there(args, path)
    if args.beside is not None:
        os.nice(NICE)
    store = Store(None if args.state is None else Path(args.state))
    several = not isinstance(sources(path, dict(args.keys), args.which), One)
    with _ended_by_signal(), _teller(args, several=several, replayed=False) as teller:
        watch = Watch(lambda: sources(path, dict(args.keys), args.which), plan, teller, channels, store)
        for channel in channels:
            channel.trouble = watch.trouble
        return watch.run()


@contextmanager
def _ended_by_signal() -> Iterator[None]:
    """Let SIGTERM end the watch as Ctrl-C does, so that the terminal is given back and what was told is kept."""

    def end(number: int, frame: object) -> None:
        raise SystemExit(TERMINATED)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _plan(args: argparse.Namespace, channels: list[Channel]) -> Plan:
    chosen = settings.DEFAULT if args.config is None else settings.load(args.config)
    return Plan(
        settings=chosen,
        configuration=configuration.DEFAULT if args.config is None else configuration.load(args.config),
        halting="ask" if args.halt else "dry",
        once=args.once,
        interval=args.interval,
        parent=args.beside,
        keep=bool(channels or args.halt or args.once or args.state),
    )


def _check_there(args: argparse.Namespace, path: Path) -> None:
    """Refuse what cannot be read: a single look cannot wait for it."""
    if not isinstance(sources(path, dict(args.keys), args.which), Many):
        open_run(path, keys=dict(args.keys), run=args.which)


@contextmanager
def _teller(args: argparse.Namespace, *, several: bool, replayed: bool) -> Iterator[Teller]:
    clock = (lambda now: "") if replayed else None
    with ExitStack() as stack:
        if args.json:
            yield JsonLines(_write)
        elif args.plain or args.once or not sys.stdout.isatty() or os.environ.get("TERM") == "dumb":
            page = None if args.once else _page
            yield Lines(_write, several=several, page=page, clock=clock)
        else:
            from rich.console import Console

            from rlprobe.guardian.screen import LivePage
            from rlprobe.guardian.telling import local_time

            console = Console(highlight=False, markup=False, emoji=False)
            live = LivePage(
                console, several=several, final=lambda told: _write("\n" + _page(told)), clock=clock or local_time
            )
            yield stack.enter_context(live)


def _page(diagnosis: Diagnosis) -> str:
    import shutil

    from rlprobe.reports import terminal

    color = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    width = min(shutil.get_terminal_size((WITHOUT_TERMINAL, 24)).columns, WIDEST)
    return terminal.render(diagnosis, width=width, color=color)


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
