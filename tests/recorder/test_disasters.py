"""Real processes that end in every way, real full disks, real forks."""

import os
import shutil
import signal
import stat
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

from rlprobe import Recorder
from rlprobe.recorder.recorder import RecorderError, RunInUse
from rlprobe.recording.reader import RecordingFeed
from rlprobe.recording.run import Run
from rlprobe.recording.validate import validate


def opened(path: Path) -> Run:
    return Run(RecordingFeed(path))


def python(code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment, check=False)


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


def test_a_forked_child_writes_nothing_and_the_parent_goes_on(tmp_path):
    recorder = Recorder(tmp_path / "run")
    recorder.log_step(0, a=1.0)
    pid = os.fork()
    if pid == 0:
        recorder.log_step(99, a=9.0)
        recorder.log_event("custom")
        os._exit(0 if recorder.close() and not recorder.should_stop else 1)
    _, status = os.waitpid(pid, 0)
    recorder.log_step(1, a=2.0)
    recorder.close()
    run = opened(tmp_path / "run")

    assert os.waitstatus_to_exitcode(status) == 0
    assert run.steps.tolist() == [0, 1]
    assert [event.kind for event in run.events] == ["closed"]


def test_a_forked_child_that_outlives_its_parents_recorder_does_not_hold_the_run(tmp_path):
    recorder = Recorder(tmp_path / "run")
    ready, release = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(ready[1], b"x")
        os.read(release[0], 1)
        os._exit(0)
    os.read(ready[0], 1)
    recorder.close()
    try:
        Recorder(tmp_path / "run").close()
    finally:
        os.write(release[1], b"x")
        os.waitpid(pid, 0)
        for end in (*ready, *release):
            os.close(end)


def test_many_threads_log_at_once_and_every_row_is_read_once(tmp_path):
    recorder = Recorder(tmp_path / "run")

    def work(thread: int) -> None:
        for number in range(500):
            recorder.log_step(thread * 1000 + number, {"value": thread + number / 1000})

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    recorder.close()
    run = opened(tmp_path / "run")

    assert run.steps.tolist() == sorted(t * 1000 + n for t in range(6) for n in range(500))
    assert run.column("value").tolist() == [s // 1000 + s % 1000 / 1000 for s in run.steps.tolist()]
    assert run.rewinds == 0


def test_a_second_recorder_of_the_same_run_is_refused_with_one_line(tmp_path):
    with Recorder(tmp_path / "run") as recorder:
        with pytest.raises(RunInUse) as refusal:
            Recorder(tmp_path / "run")
        recorder.log_step(0, a=1.0)

    assert "another recorder" in str(refusal.value)
    assert "\n" not in str(refusal.value)
    assert opened(tmp_path / "run").rows == 1


def test_a_second_process_is_refused_and_the_first_is_not_disturbed(tmp_path):
    with Recorder(tmp_path / "run") as recorder:
        recorder.log_step(0, a=1.0)
        finished = python("import sys; from rlprobe import Recorder; Recorder(sys.argv[1])", tmp_path / "run")

    assert "RunInUse" in finished.stderr
    assert opened(tmp_path / "run").rows == 1


def test_resuming_at_an_older_step_takes_the_newer_rows_and_keeps_the_older_ones_readable(tmp_path):
    for segment, first in enumerate((0, 60, 60, 90)):
        with Recorder(tmp_path / "run", algorithm="grpo") as recorder:
            for step in range(first, 100):
                recorder.log_step(step, value=1000.0 * segment + step)
                recorder.log_samples(step, [{"reward": float(segment)}])
    run = opened(tmp_path / "run")
    samples = run.samples(columns=("step", "segment"))

    assert run.steps.tolist() == list(range(100))
    assert run.column("value").tolist() == [s + (0 if s < 60 else 2000 if s < 90 else 3000) for s in range(100)]
    assert run.rewinds == 3
    assert [len(batch.steps) for batch in run.overwritten] == [40, 40, 10]
    assert [event.fields["from_step"] for event in run.events if event.kind == "resume"] == [60, 60, 90]
    assert samples.columns["step"].tolist() == list(range(100))
    assert samples.columns["segment"].tolist() == [0] * 60 + [2] * 30 + [3] * 10
    assert validate(tmp_path / "run") == []


def test_files_are_for_the_owner_only(tmp_path):
    with Recorder(tmp_path / "run") as recorder:
        recorder.log_step(0, a=1.0)
        recorder.log_samples(0, [{"prompt": "p"}])
        recorder.flush()
        modes = {path: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "run").rglob("*") if path.is_file()}
        assert len(modes) >= 4
        assert set(modes.values()) == {0o600}, modes
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "run").rglob("*") if path.is_file()}

    assert set(modes.values()) == {0o600}, modes
    assert stat.S_IMODE((tmp_path / "run").stat().st_mode) == 0o700


@pytest.fixture
def small_disk(tmp_path):
    place = tmp_path / "disk"
    place.mkdir()
    if (
        shutil.which("mount") is None
        or subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)], capture_output=True, check=False
        ).returncode
    ):
        pytest.skip("needs the right to mount a tmpfs")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.mark.slow
def test_a_full_disk_costs_nothing_when_space_returns(small_disk):
    recorder = Recorder(small_disk / "run")
    filler = small_disk / "filler"
    filler.write_bytes(bytes(800_000))
    for step in range(3000):  # 200 bytes each: more than what is left
        recorder.log_step(step, {f"metric {n}": step + n * 0.5 for n in range(8)})
        if step % 50 == 0:
            recorder.flush()
    assert not recorder.dropped
    during = opened(small_disk / "run")
    assert during.steps.tolist() == list(range(during.rows))
    filler.unlink()
    recorder.log_step(3000, last=1.0)
    recorder.close()
    run = opened(small_disk / "run")

    assert run.steps.tolist() == list(range(3001))
    assert run.column("metric 7")[:3000].tolist() == [step + 3.5 for step in range(3000)]
    assert run.reading.unreadable == 0
    assert run.reading.dropped == 0


def test_a_flood_that_does_not_fit_is_dropped_counted_and_told(tmp_path):
    from rlprobe.recorder.worker import Bounds

    recorder = Recorder(tmp_path / "run", bounds=Bounds(items=10))
    for step in range(2000):
        recorder.log_step(step, a=float(step))
    recorder.close()
    run = opened(tmp_path / "run")

    assert run.reading.dropped > 0
    assert run.rows + run.reading.dropped == 2000
    assert sum(event.fields["rows"] for event in run.events if event.kind == "dropped") == run.reading.dropped
    assert run.column("a").tolist() == run.steps.tolist()


def test_a_bound_of_bytes_holds_for_large_rows(tmp_path):
    from rlprobe.recorder.worker import Bounds

    recorder = Recorder(tmp_path / "run", bounds=Bounds(size=100_000))
    for step in range(50):
        recorder.log_samples(step, [{"completion": "x" * 30_000}], owned=True)
        recorder.log_samples(step, [{"completion": "x" * 200_000}], owned=True)
    recorder.close()

    assert recorder.dropped >= 50


@pytest.mark.slow
def test_a_directory_deleted_under_the_recorder_is_laid_anew(tmp_path):
    recorder = Recorder(tmp_path / "run", algorithm="grpo")
    recorder.log_step(0, a=1.0)
    recorder.flush()
    shutil.rmtree(tmp_path / "run")
    recorder.log_step(1, a=2.0)
    recorder.close()
    run = opened(tmp_path / "run")

    assert run.manifest.state == "closed"
    assert run.rows + run.reading.dropped == 2


def test_a_directory_that_cannot_be_made_is_refused_with_one_line(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(RecorderError) as refusal:
        Recorder(tmp_path / "file" / "run")

    assert str(tmp_path / "file" / "run") in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_a_rank_other_than_zero_is_silent_unless_asked(tmp_path, monkeypatch):
    monkeypatch.setenv("RANK", "3")
    with Recorder(tmp_path / "silent") as recorder:
        recorder.log_step(0, a=1.0)
        recorder.log_samples(0, [{}])
    assert not (tmp_path / "silent").exists()
    with Recorder(tmp_path / "run", record_all_ranks=True) as recorder:
        recorder.log_step(0, a=1.0)
    monkeypatch.setenv("RANK", "0")
    with Recorder(tmp_path / "run") as recorder:
        recorder.log_step(0, a=2.0)
    feed = RecordingFeed(tmp_path / "run")

    assert feed.ranks == (0, 3)
    assert Run(feed.rank(3)).column("a").tolist() == [1.0]
    assert Run(feed).column("a").tolist() == [2.0]


def test_a_request_to_halt_is_seen_and_one_for_an_earlier_segment_is_not(tmp_path, monkeypatch):
    monkeypatch.setattr("rlprobe.recorder.halting.LOOK_EVERY", 0.0)
    with Recorder(tmp_path / "run") as recorder:
        assert not recorder.should_stop
        (tmp_path / "run" / "control.json").write_text("{torn")
        assert not recorder.should_stop
        (tmp_path / "run" / "control.json").write_text('{"request": "halt", "reason": "KL_BLOWUP"}')
        assert recorder.should_stop
        assert recorder.stop_reason == "KL_BLOWUP"
    with Recorder(tmp_path / "run") as recorder:
        assert not recorder.should_stop
    halts = [event for event in opened(tmp_path / "run").events if event.kind == "halt"]

    assert [halt.fields["reason"] for halt in halts] == ["KL_BLOWUP"]


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
