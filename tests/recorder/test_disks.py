"""Real disks that are full, fail, hang, are read-only or taken away, and clocks that jump."""

import errno
import shutil
import signal
import stat
import subprocess
import textwrap

import pytest

from rlprobe import Recorder
from rlprobe.recorder import journaling
from rlprobe.recorder.recorder import RecorderError
from rlprobe.recording.run import Run
from rlprobe.recording.validate import validate
from tests.support import faults
from tests.support.disasters import opened


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
            kept = recorder.flush()
    assert not kept  # it waits in memory, and nobody is told otherwise
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


def test_a_directory_that_cannot_be_made_is_refused_with_one_line(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(RecorderError) as refusal:
        Recorder(tmp_path / "file" / "run")

    assert str(tmp_path / "file" / "run") in str(refusal.value)
    assert "\n" not in str(refusal.value)


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


@pytest.mark.slow
def test_a_disk_that_is_full_or_read_only_from_the_start_is_refused_with_one_line(small_disk):
    (small_disk / "filler").write_bytes(bytes(1 << 20))
    with pytest.raises(RecorderError, match="has space") as full:
        Recorder(small_disk / "run")
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with pytest.raises(RecorderError, match="can be written") as sealed:
        Recorder(small_disk / "other")

    assert "\n" not in str(full.value) + str(sealed.value)


def test_what_waits_in_memory_is_bounded_and_written_in_order_once_the_disk_takes_it(tmp_path, monkeypatch):
    monkeypatch.setattr(journaling, "WAITING_BYTES", 5_000)
    stream = journaling.StreamWriter(lambda first: tmp_path / "not there yet" / "journal")
    pieces = [b"%04d" % number * 25 for number in range(100)]
    dropped = [stream.write(number, 1, piece) for number, piece in enumerate(pieces)]
    (tmp_path / "not there yet").mkdir()

    assert stream.retry()
    kept = [piece for piece, lost in zip(pieces, dropped, strict=True) if not lost]
    assert (tmp_path / "not there yet" / "journal").read_bytes() == b"".join(kept)
    assert len(kept) == 50
    assert stream.total == 100 - sum(dropped)


_BEGIN = """
    import os, sys, time
    from rlprobe import Recorder
    from rlprobe.recorder import session, worker
    from tests.support import faults
    worker._KEEP_EVERY = worker._SNAPSHOT_EVERY = worker._SYNC_EVERY = 0.02
    worker._GROWTH, worker._SNAPSHOT_SHARE, worker._PART_ROWS, session._LAST_SECONDS = 0.0, 0, 8, 0.3
    disk = faults.own()
    recorder = Recorder(sys.argv[1], bounds=worker.Bounds(items=1000))
    def log(first, stop):
        for step in range(first, stop):
            recorder.log_samples(step, [{"completion": f"{step} {n}"} for n in range(2)])
            recorder.log_step(step, a=step * 0.5)
            recorder.log_event("custom", step, mine=step)
    def until(condition):
        while not condition():
            time.sleep(0.005)
    log(0, 20)
    assert recorder.flush()
"""


class FailingDisk:
    """Runs code in a process whose disk and clock do as it says; the code goes on after `_BEGIN`."""

    def __init__(self, folder):
        self.run_dir = folder / "run"
        self._block = folder / "block"
        self._folder = folder

    def run(self, code: str, status: int = 0) -> tuple[Run, str]:
        """What is read back afterwards, and what the code printed before it ended with that status."""
        faults.Faults(self._block)
        whole = textwrap.dedent(_BEGIN) + textwrap.dedent(code)
        process = faults.start(whole, self._block, self._folder, self.run_dir)
        printed, errors = process.communicate(timeout=60)
        assert process.returncode == status, errors
        assert errors == ""
        return opened(self.run_dir), printed.strip()


@pytest.fixture
def disk(tmp_path):
    if faults.library() is None:
        pytest.skip("needs a C compiler, and a system that can preload a library")
    return FailingDisk(tmp_path)


def check_whole(run: Run, steps: int) -> None:
    """All rows, samples and events of so many steps are there, once, in order, with their values."""
    samples = run.samples(columns=("step", "completion"))
    assert run.steps.tolist() == list(range(steps))
    assert run.column("a").tolist() == [step * 0.5 for step in range(steps)]
    assert samples.columns["completion"] == [f"{step} {n}" for step in range(steps) for n in range(2)]
    assert [event.step for event in run.events if event.kind == "custom"] == list(range(steps))
    assert (run.reading.dropped, run.reading.unreadable) == (0, 0)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["write", "sync", "rename", "open"])
def test_calls_that_fail_for_a_while_cost_nothing(disk, kind):
    run, printed = disk.run(f"""
        disk.part = 13  # of a failing write thirteen bytes are taken first
        disk.fail_{kind} = 5
        log(20, 60)
        until(lambda: not disk.fail_{kind})  # the recorder tries again by itself
        log(60, 80)
        print(recorder.close(), recorder.dropped)
    """)

    assert printed == "True 0"
    assert run.manifest.state == "closed"
    check_whole(run, 80)
    assert validate(disk.run_dir) == []


@pytest.mark.slow
def test_what_the_disk_never_takes_is_counted_and_the_rest_is_whole(disk):
    run, printed = disk.run("""
        disk.error = 30  # EROFS
        disk.fail_write = disk.fail_open = disk.fail_rename = -1
        log(20, 60)
        print(recorder.flush(), recorder.close(), recorder.dropped)
    """)

    assert printed == f"False True {40 * 3}"
    assert run.manifest.state == "crashed"
    check_whole(run, 20)


@pytest.mark.slow
def test_a_disk_that_hangs_holds_up_nothing_but_the_recorders_own_threads(disk):
    run, printed = disk.run("""
        disk.hang = 1
        log(20, 30)
        until(lambda: disk.waiting)
        log(30, 2000)  # as far as the bound goes; whoever waited for the disk would wait for ever
        assert not recorder.flush(0.01) and recorder.dropped
        assert not recorder.should_stop
        disk.hang = 0
        print(recorder.close(), recorder.dropped)
    """)
    samples = run.samples(columns=("step",))
    kept = run.steps[run.logged("a")].tolist()  # a row may be there because of its samples alone

    assert printed == f"True {run.reading.dropped}"
    assert len(kept) + samples.rows + run.reading.dropped == 2000 * 3
    assert kept[:30] == list(range(30))
    assert kept == sorted(set(kept))
    assert run.column("a")[run.logged("a")].tolist() == [step * 0.5 for step in kept]
    assert sum(event.fields["rows"] for event in run.events if event.kind == "dropped") == run.reading.dropped


@pytest.mark.slow
def test_a_disk_that_hangs_does_not_keep_a_process_that_is_told_to_end(disk):
    run, _ = disk.run(
        """
        import signal
        from rlprobe.recorder import lifelines
        lifelines._FLUSH_SECONDS = lifelines._SIGNAL_SECONDS = 0.05
        disk.hang = 1
        log(20, 30)
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(60)
        """,
        -signal.SIGTERM,
    )

    assert run.manifest.state == "crashed"
    check_whole(run, 20)


@pytest.mark.slow
def test_a_clock_that_jumps_changes_times_and_nothing_else(disk):
    run, _ = disk.run("""
        for first, hours in ((20, -1), (40, 24), (60, -24)):
            disk.clock = hours * 3600 * 10**9
            log(first, first + 20)
            assert recorder.flush()
        recorder.close()
    """)
    hours = (run.column("wall_time") - run.column("wall_time")[0]) / 3600

    check_whole(run, 80)
    assert hours.round().tolist() == [0.0] * 20 + [-1.0] * 20 + [24.0] * 20 + [-24.0] * 20
    assert validate(disk.run_dir) == []


@pytest.mark.slow
def test_a_file_system_without_locks_is_recorded_on(disk):
    run, _ = disk.run(f"""
        recorder.close()
        disk.no_locks = {errno.ENOLCK}
        recorder = Recorder(sys.argv[1])
        log(20, 40)
        recorder.close()
    """)

    check_whole(run, 40)
    assert len(run.manifest.raw["segments"]) == 2
