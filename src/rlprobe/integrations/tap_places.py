"""Where a tap records, and by which variables `rlprobe run` tells it to child processes. Standard library only."""

import os
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

RUN = "RLPROBE_TAP"  # the run's directory; set by `rlprobe run`
TELL = "RLPROBE_TAP_TELL"  # loggers into which findings are written back, between blanks
HALT = "RLPROBE_TAP_HALT"  # "1", or the doctor.toml with the policy; nothing where no halt is passed on
PROCESS = "RLPROBE_TAP_PROCESS"  # what is known of the process that `rlprobe run` became (class First)
BOOTSTRAP = Path(__file__).parent / "bootstrap"  # the folder of the sitecustomize that starts the tap
MOST_RUNS = 99  # recordings of one directory's name that processes beside each other make


def default_run_dir(program: str = "") -> Path:
    """runs/PROGRAM-DATE-TIME; a number behind it where that is taken."""
    stem = Path(program or sys.argv[0] or "python").stem or "python"
    base = Path("runs") / f"{stem}-{time.strftime('%Y%m%d-%H%M%S')}"
    return next(path for path in sibling_names(base) if not path.exists())


def script_of(program: "list[str]") -> str:
    """The word that names the training program best: its Python file or module, else the command."""
    files = [word for word in program if word.endswith(".py")]
    modules = [after for word, after in pairwise(program) if word == "-m"]
    return next(iter([*files, *(name.rpartition(".")[2] for name in modules), program[0]]))


def refused(run_dir: Path) -> str:
    """Why no recording can be made there, as far as can be seen before training begins; "" where nothing speaks
    against it.
    """
    try:
        return "" if run_dir.is_dir() or not run_dir.exists() else "expected a directory, got a file"
    except OSError as error:  # a name that is too long, a folder that must not be looked into
        return error.strerror or type(error).__name__


def sibling_names(base: Path) -> "list[Path]":
    """The name, and the same with a number behind it."""
    return [base, *(base.with_name(f"{base.name}-{number}") for number in range(2, MOST_RUNS + 1))]


def halt_of(text: str) -> "bool | str":
    """What the variable HALT says, as `tap` takes it."""
    return text if text not in ("", "1") else text == "1"


class First(NamedTuple):
    """The process that `rlprobe run` became, as the variable PROCESS has it.

    Attributes:
        pid: its number; 0 where no `rlprobe run` is above.
        before: nanoseconds at which a recording of the run's name was last written to before it began; 0 for none.
        tells: whether it is a Python that tells at its end what was recorded. Else each process tells of its own.
    """

    pid: int = 0
    before: int = 0
    tells: bool = False

    @classmethod
    def read(cls) -> "First":
        """From the environment."""
        words = os.environ.get(PROCESS, "").split()
        numbers = [int(word) for word in words[:2] if word.isdecimal()]
        return cls(numbers[0], numbers[1], words[2:] == ["tells"]) if len(numbers) == 2 else cls()

    def __str__(self) -> str:
        return f"{self.pid} {self.before}" + " tells" * self.tells


def written(base: Path) -> dict[Path, int]:
    """When each recording of the name was last written to, in nanoseconds."""
    found = [path / "manifest.json" for path in sibling_names(base)]
    return {path.parent: path.stat().st_mtime_ns for path in found if path.exists()}


def environment_for(run_dir: Path, tell: "list[str]", halt: "bool | str") -> dict[str, str]:
    """The variables that start the tap in every Python process below this one, which becomes the first."""
    first = First(os.getpid(), max(written(run_dir).values(), default=0))
    before = os.environ.get("PYTHONPATH")
    variables = {"PYTHONPATH": os.pathsep.join(filter(None, (str(BOOTSTRAP), before))), RUN: str(run_dir.absolute())}
    variables |= {PROCESS: str(first), TELL: " ".join(tell)}
    return variables | {HALT: "1" if halt is True else os.path.abspath(halt) if halt else ""}
