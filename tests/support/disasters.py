"""What tests of disasters share: Python processes of their own, and what is read back after them."""

import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

from rlprobe.recording.reader import RecordingFeed
from rlprobe.recording.run import Run


def opened(path: Path) -> Run:
    """The run as a reader of this moment sees it."""
    return Run(RecordingFeed(path))


def python(code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """What a Python process did that ran the code to its end."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment, check=False)


def until(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    """Wait for what another thread is about to bring about; fail where it does not."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.005)
