"""`rlprobe run` before a launcher: real processes beside each other, one recording, and the launcher's own end."""

import os
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from rlprobe import open_run

PROGRAM = Path(__file__).with_name("launched.py")
MISSING = [name for name in ("torch", "accelerate", "tensorboardX") if find_spec(name) is None]
TORCHRUN = ["torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
ACCELERATE = ["accelerate.commands.launch", "--multi_gpu", "--num_processes", "2", "--main_process_port", "0"]
ALONE = ["accelerate.commands.launch", "--cpu", "--num_processes", "1", "-m"]  # of a module, in one process

pytestmark = [pytest.mark.slow, pytest.mark.trl, pytest.mark.skipif(bool(MISSING), reason=f"needs {MISSING}")]


def words(home: Path, *launched: str) -> list[str]:
    """The command line: the launcher as `torchrun` and `accelerate launch` start it."""
    command = [sys.executable, "-m", "rlprobe", "run", "--run", str(home / "run"), "--", sys.executable, "-m"]
    return [*command, *launched]


def names(home: Path) -> list[str]:
    """The recordings that were made."""
    return sorted(path.parent.name for path in home.glob("run*/manifest.json"))


@pytest.mark.parametrize(
    ("launcher", "program", "losses"),
    [
        (TORCHRUN, [str(PROGRAM)], [0.5, 1.5, 2.5, 3.5, 4.5]),
        (ALONE, ["tests.integrations.launched"], [0.0, 1.0, 2.0, 3.0, 4.0]),
    ],
)
def test_a_launcher_makes_one_recording_and_ends_as_it_would(
    tmp_path: Path, launcher: list[str], program: list[str], losses: list[float]
) -> None:
    command = words(tmp_path, *launcher, *program, str(tmp_path), "3")
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=PROGRAM.parents[2])

    assert done.returncode == 1, done.stderr  # what both make of a process that exits with 3
    assert names(tmp_path) == ["run"]
    assert open_run(tmp_path / "run").column("loss").tolist() == losses
    assert done.stderr.endswith(f"rlprobe: recorded in {tmp_path}/run. `rlprobe doctor {tmp_path}/run` diagnoses it.\n")


def test_a_signal_reaches_every_process_of_a_launcher(tmp_path: Path) -> None:
    command = words(tmp_path, *ACCELERATE, str(PROGRAM), str(tmp_path))
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        told = {process.stdout.readline() for _ in range(2)}
        process.send_signal(signal.SIGTERM)
        process.communicate()
    children = [int((tmp_path / f"pid-{rank}").read_text()) for rank in range(2)]

    assert told == {b"0 of 2\n", b"1 of 2\n"}
    assert process.returncode == 1  # as without rlprobe: the launcher ends its processes, then itself by an exception
    assert [pid for pid in children if _lives(pid)] == []
    assert names(tmp_path) == ["run"]
    assert open_run(tmp_path / "run").column("loss").tolist() == [0.5, 1.5, 2.5, 3.5, 4.5]


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
