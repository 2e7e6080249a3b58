"""Real disks that are full, fail, hang, are read-only or taken away, and clocks that jump."""

import shutil
import stat
import subprocess

import pytest

from rlprobe import Recorder
from rlprobe.recorder.recorder import RecorderError
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
