"""The tap of a process under `rlprobe run`: it starts before the program does, and the end is told.

The first process tells of every recording, or that there is none. Where it is no Python with a tap, a shell for
example, each process tells at its end of what it recorded itself.
"""

import os
import shlex
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from rlprobe.integrations.tap_places import PROCESS, RUN, First, written

NOTHING = (
    "rlprobe: nothing was recorded: no number went to a logger that the tap knows "
    "(docs/frameworks.md lists them), or the process that logs did not end in order."
)


def start() -> None:
    """Start the tap that the environment asks for; nothing where it asks for none."""
    if not os.environ.get(RUN):
        return
    from rlprobe.integrations.tap import tap

    opened, first, base = tap(), First.read(), Path(os.environ[RUN])
    if first.pid == os.getpid():
        os.environ[PROCESS] = str(first._replace(tells=True))
        _at_the_end(lambda: [at for at, when in written(base).items() if when > first.before], NOTHING)
    elif first.pid and not first.tells:
        _at_the_end(lambda: opened.made, "")


def _at_the_end(recorded: Callable[[], Iterable[Path]], nothing: str) -> None:
    """Have said on stderr where the recordings lie; a forked child that ends says nothing."""
    import atexit

    def tell(pid: int = os.getpid()) -> None:
        if sys.stderr is None or os.getpid() != pid:
            return
        told = [
            f"rlprobe: recorded in {path}. `rlprobe doctor {path}` diagnoses it." for path in map(_shown, recorded())
        ]
        if told or nothing:
            print("\n".join(told or [nothing]), file=sys.stderr)  # noqa: T201 - the command's last word

    atexit.register(tell)


def _shown(path: Path) -> str:
    """The path as a shell takes it, in characters that a terminal only shows."""
    text = str(path)
    return shlex.quote(text) if text.isprintable() else ascii(text)
