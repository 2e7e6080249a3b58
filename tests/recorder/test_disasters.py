"""Real processes that end in every way; what they leave is read back."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rlprobe import Recorder
from tests.support.disasters import opened, python

_START = """
    import os, signal, sys, threading, time
    from rlprobe import Recorder
    recorder = Recorder(sys.argv[1])
    for step in range(20):
        recorder.log_step(step, loss=float(step))
"""
_ENDS = {
    "exit without close": ("", 0, "closed", None),
    "exception": ("    raise RuntimeError('boom')\n", 1, "crashed", "crash"),
    "SIGTERM": ("    os.kill(os.getpid(), signal.SIGTERM); time.sleep(9)\n", -signal.SIGTERM, "crashed", "signal"),
    "SIGINT": ("    os.kill(os.getpid(), signal.SIGINT); time.sleep(9)\n", -signal.SIGINT, "crashed", "signal"),
    "sys.exit": ("    sys.exit(3)\n", 3, "closed", None),
    "os._exit": ("    recorder.flush(); os._exit(4)\n", 4, "crashed", None),
    "SIGSEGV": ("    recorder.flush(); os.kill(os.getpid(), signal.SIGSEGV)\n", -signal.SIGSEGV, "crashed", None),
    "SIGKILL": ("    recorder.flush(); os.kill(os.getpid(), signal.SIGKILL)\n", -signal.SIGKILL, "crashed", None),
}


@pytest.mark.slow
@pytest.mark.parametrize("end", _ENDS)
def test_whatever_ends_the_process_every_row_is_read_and_the_state_is_told(tmp_path, end):
    code, status, state, event = _ENDS[end]
    finished = python(_START + code, tmp_path / "run")
    run = opened(tmp_path / "run")

    assert finished.returncode == status, finished.stderr
    assert run.column("loss").tolist() == [float(step) for step in range(20)]
    assert run.manifest.state == state
    assert run.complete == 20
    assert event is None or event in [each.kind for each in run.events]


@pytest.mark.slow
def test_a_thread_that_dies_is_told_and_the_run_goes_on(tmp_path):
    code = (
        _START
        + """
    thread = threading.Thread(target=lambda: 1 / 0, name="reward", daemon=True)
    thread.start(); thread.join()
    recorder.log_step(20, loss=1.0)
    """
    )
    finished = python(code, tmp_path / "run")
    run = opened(tmp_path / "run")
    crash = next(event for event in run.events if event.kind == "crash")

    assert "ZeroDivisionError" in finished.stderr
    assert crash.fields["error"] == "ZeroDivisionError"
    assert crash.fields["thread"] == "reward"
    assert run.rows == 21
    assert run.manifest.state == "closed"


@pytest.mark.slow
def test_a_thread_that_logs_while_the_interpreter_ends_neither_holds_it_up_nor_breaks_the_run(tmp_path):
    code = (
        _START
        + """
    def log():
        for step in range(1000, 10**9):
            recorder.log_step(step, loss=float(step))
    threading.Thread(target=log, daemon=True).start()
    recorder.flush()
    """
    )
    finished = python(code, tmp_path / "run")
    run = opened(tmp_path / "run")

    assert (finished.returncode, finished.stderr) == (0, "")
    assert run.manifest.state == "closed"
    assert run.steps.tolist() == [*range(20), *range(1000, 1000 + run.rows - 20)]
    assert run.column("loss").tolist() == run.steps.tolist()


@pytest.mark.slow
def test_a_signal_handler_of_the_trainer_still_runs(tmp_path):
    code = (
        """
    import os, signal, sys, time
    from rlprobe import Recorder
    signal.signal(signal.SIGTERM, lambda number, frame: (print("saving"), sys.exit(7)))
    """
        + _START
        + """
    os.kill(os.getpid(), signal.SIGTERM); time.sleep(9)
    """
    )
    finished = python(code, tmp_path / "run")

    assert finished.returncode == 7
    assert finished.stdout == "saving\n"
    assert opened(tmp_path / "run").rows == 20


@pytest.mark.slow
def test_thirty_kills_lose_no_row_that_was_handed_over_200_ms_before():
    command = [sys.executable, "-m", "bench.recorder.kills", "--n", "30", "--seed", "5"]
    root = Path(__file__).parents[2]
    finished = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=300, check=False)

    assert "30 of 30 kills" in finished.stdout, finished.stdout + finished.stderr


def test_an_exception_in_the_with_block_is_kept_and_goes_on(tmp_path):
    def train() -> None:
        with Recorder(tmp_path / "run") as recorder:
            recorder.log_step(0, loss=1.0)
            raise RuntimeError("out of memory")

    with pytest.raises(RuntimeError, match="out of memory"):
        train()
    run = opened(tmp_path / "run")

    assert run.manifest.state == "crashed"
    assert [event.kind for event in run.events] == ["crash"]
    assert "out of memory" in run.events[0].fields["traceback"]


def test_neither_recording_nor_reading_imports_pandas_or_torch(tmp_path):
    code = """
    import sys
    from rlprobe import Recorder
    from rlprobe.recording.reader import RecordingFeed
    from rlprobe.recording.run import Run
    from rlprobe.recording.convert import export
    with Recorder(sys.argv[1]) as recorder:
        recorder.log_step(0, a=1.0)
        recorder.log_samples(0, [{"prompt": "p", "reward": 1.0, "token_kl": [0.5]}, {"prompt": "q", "reward": None}])
    with Recorder(sys.argv[1]) as recorder:
        recorder.log_step(1, b=1.0)
    run = Run(RecordingFeed(sys.argv[1]))
    run.samples(), run.samples(step=0)
    export(sys.argv[1], sys.argv[1] + "-copy")
    assert run.rows == 2
    print(sorted({"pandas", "torch", "rlprobe.doctor"} & set(sys.modules)))
    """
    assert python(code, tmp_path / "run").stdout == "[]\n"
