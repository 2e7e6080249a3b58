"""The tap of a process under `rlprobe run`: it starts before the program does, and the first process tells the end."""

import os
import shlex
import sys
from pathlib import Path

from rlprobe.integrations.tap_places import PROCESS, RUN, sibling_names


def start() -> None:
    """Start the tap that the environment asks for; nothing where it asks for none."""
    if not os.environ.get(RUN):
        return
    from rlprobe.integrations.tap import tap

    tap()
    if os.environ.get(PROCESS) == str(os.getpid()):
        import atexit

        atexit.register(_tell_end, Path(os.environ[RUN]), _written(Path(os.environ[RUN])))


def _written(base: Path) -> dict[Path, float]:
    """When each recording of the name was last written to."""
    found = [path / "manifest.json" for path in sibling_names(base)]
    return {path.parent: path.stat().st_mtime for path in found if path.exists()}


def _tell_end(base: Path, before: dict[Path, float]) -> None:
    """Say on stderr where the recording lies, or that there is none and why."""
    if sys.stderr is None:
        return
    new = [path for path, written in _written(base).items() if written != before.get(path)]
    told = [f"rlprobe: recorded in {path}. `rlprobe doctor {path}` diagnoses it." for path in map(_shown, new)]
    nothing = (
        "rlprobe: nothing was recorded: no number went to a logger that the tap knows "
        "(docs/frameworks.md lists them), or the process that logs did not end in order."
    )
    print("\n".join(told or [nothing]), file=sys.stderr)  # noqa: T201 - the command's last word


def _shown(path: Path) -> str:
    """The path as a shell takes it, in characters that a terminal only shows."""
    text = str(path)
    return shlex.quote(text) if text.isprintable() else ascii(text)
