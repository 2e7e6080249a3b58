"""A disk and a clock that fail on command: faults.c, preloaded into a child, and the block through which it is told.

The child is a Python process that runs a piece of code; the code and the test share the block, so that a fault begins
and ends where either of them says and nobody has to wait for a moment.
"""

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


@cache
def library() -> Path | None:
    """The compiled library; None where there is no compiler, or no way to preload a library."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or not sys.platform.startswith("linux"):
        return None
    target = Path(mkdtemp(prefix="faults-")) / "faults.so"
    command = [compiler, "-shared", "-fPIC", "-O1", "-o", str(target), str(_SOURCE), "-ldl"]
    built = subprocess.run(command, capture_output=True, check=False)
    return target if built.returncode == 0 else None


def environment(block: Path, place: Path) -> dict[str, str]:
    """The variables with which a process gets a disk that fails below `place`, as the block says."""
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(_ROOT), *sys.path]),
        "LD_PRELOAD": str(library()),
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
