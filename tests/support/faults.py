"""A disk and a clock that fail on command: faults.c, preloaded into a child, and the block through which it is told.

The child is a Python process that runs a piece of code; the code and the test share the block, so that a fault begins
and ends where either of them says and nobody has to wait for a moment.
"""

import atexit
import ctypes
import mmap
import os
import shutil
import struct
import subprocess
import sys
import textwrap
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

_SOURCE = Path(__file__).with_name("faults.c")
_ROOT = Path(__file__).parents[2]
_FIELDS = (
    "fail_write", "fail_sync", "fail_rename", "fail_open", "error", "part", "hang", "waiting", "clock", "die_at",
    "die_half", "calls", "no_locks", "delay",
)  # fmt: skip
_BYTES = 8 * len(_FIELDS)
BLOCK, PLACE = "FAULTS_BLOCK", "FAULTS_ROOT"


class Faults:
    """The block. Each field is an integer that faults.c explains.

    Args:
        path: the block's file; made when it is not there.
    """

    def __init__(self, path: Path) -> None:
        if not path.exists():
            path.write_bytes(bytes(_BYTES))
        with path.open("r+b") as block:
            object.__setattr__(self, "_map", mmap.mmap(block.fileno(), _BYTES))

    def __getattr__(self, name: str) -> int:
        return struct.unpack_from("<q", self._map, 8 * _FIELDS.index(name))[0]

    def __setattr__(self, name: str, value: int) -> None:
        struct.pack_into("<q", self._map, 8 * _FIELDS.index(name), value)


def own() -> Faults:
    """The block of this process, which was started by `environment`."""
    return Faults(Path(os.environ[BLOCK]))


def of_its_own() -> Faults:
    """A new block that this process has alone, though others were forked from the same parent."""
    path = Path(mkdtemp(dir=os.environ[PLACE])) / "block"
    block = Faults(path)
    ctypes.CDLL(None).faults_use(str(path).encode())
    return block


@cache
def library() -> Path | None:
    """The library, compiled once a process; None where there is no compiler, or no way to preload a library."""
    folder = mkdtemp(prefix="faults-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return build(Path(folder))


def build(folder: Path) -> Path | None:
    """The library, compiled into a folder; None where that cannot be."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or not sys.platform.startswith("linux"):
        return None
    target = folder / "faults.so"
    command = [compiler, "-shared", "-fPIC", "-O1", "-o", str(target), str(_SOURCE), "-ldl"]
    built = subprocess.run(command, capture_output=True, check=False)
    return target if built.returncode == 0 else None


def environment(block: Path, place: Path, preloaded: Path | None = None) -> dict[str, str]:
    """The variables with which a process gets a disk that fails below `place`, as the block says."""
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(_ROOT), *sys.path]),
        "LD_PRELOAD": str(preloaded or library()),
        BLOCK: str(block),
        PLACE: str(place),
    }


def start(code: str, block: Path, place: Path, *arguments: object) -> subprocess.Popen[str]:
    """A Python process with that disk, running the code; its standard input and output are pipes."""
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
    return subprocess.Popen(
        command, env=environment(block, place), text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def place() -> Path | None:
    """The folder below which this process's disk fails on command; None where it was not started that way."""
    return Path(os.environ[PLACE]) if BLOCK in os.environ else None


def restart_with(command: list[str]) -> None:
    """Have this Python process begin anew with a disk that fails on command, where that can be and is not done."""
    if BLOCK in os.environ:
        atexit.register(shutil.rmtree, os.environ[PLACE], ignore_errors=True)
        return
    folder = Path(mkdtemp(prefix="faults-"))
    built = build(folder)
    if built is None:
        folder.rmdir()
        return
    Faults(folder / "block")
    os.execve(sys.executable, [sys.executable, *command], environment(folder / "block", folder, built))
