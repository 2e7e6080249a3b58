"""Directories and files that are deleted or replaced under a recorder that goes on."""

import shutil

import pytest

from rlprobe import Recorder
from rlprobe.recorder import worker
from rlprobe.recorder.recorder import RunInUse
from rlprobe.recording.validate import validate
from tests.support.disasters import opened


@pytest.fixture(autouse=True)
def _mended_when_told(monkeypatch):
    """The keeper does nothing by itself, so that a test says when."""
    monkeypatch.setattr(worker, "_KEEP_EVERY", 3600.0)


def log(recorder: Recorder, first: int, stop: int) -> None:
    for step in range(first, stop):
        recorder.log_step(step, a=step * 0.5)
    assert recorder.flush()


def session(recorder: Recorder) -> object:
    return recorder._worker.session


@pytest.mark.parametrize("snapshot", [False, True])
def test_a_deleted_directory_is_laid_anew_locked_and_its_rows_are_counted(tmp_path, snapshot):
    recorder = Recorder(tmp_path / "run", algorithm="grpo")
    log(recorder, 0, 10)
    if snapshot:
        session(recorder).snapshot()
    shutil.rmtree(tmp_path / "run")
    session(recorder).mend()
    log(recorder, 10, 30)
    live = opened(tmp_path / "run")
    with pytest.raises(RunInUse):
        Recorder(tmp_path / "run")
    recorder.close()
    run = opened(tmp_path / "run")

    assert live.manifest.state == "recording"
    assert run.manifest.state == "closed"
    assert run.manifest.algorithm == "grpo"
    assert run.steps.tolist() == list(range(10, 30))
    assert run.reading.dropped == recorder.dropped == 10
    assert validate(tmp_path / "run") == []


@pytest.mark.parametrize("part", ["journal", "samples", "lock", "manifest.json"])
def test_a_deleted_part_is_laid_anew_and_only_what_was_in_it_is_lost(tmp_path, part):
    recorder = Recorder(tmp_path / "run", algorithm="grpo")
    log(recorder, 0, 10)
    session(recorder).snapshot()
    log(recorder, 10, 20)
    path = tmp_path / "run" / part
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    session(recorder).mend()
    log(recorder, 20, 30)
    with pytest.raises(RunInUse):
        Recorder(tmp_path / "run")
    recorder.close()
    run = opened(tmp_path / "run")

    assert run.manifest.state == "closed"
    assert run.manifest.algorithm == "grpo"
    kept = list(range(30)) if part != "journal" else [*range(9), *range(20, 30)]  # step 9 stood in the journal as well
    assert run.steps.tolist() == kept
    assert run.reading.dropped == (10 if part == "journal" else 0)
    assert validate(tmp_path / "run") == []


@pytest.mark.parametrize("open_still", [False, True])
def test_a_directory_that_another_recorder_took_over_is_left_to_it(tmp_path, open_still, caplog):
    first = Recorder(tmp_path / "run")
    log(first, 0, 10)
    shutil.rmtree(tmp_path / "run")
    second = Recorder(tmp_path / "run")
    log(second, 100, 120)
    if not open_still:
        second.close()
    session(first).snapshot()
    for step in range(10, 30):
        first.log_step(step, a=0.0)
    session(first).mend()
    assert not first.flush()
    first.log_step(30, a=0.0)
    first.close()
    second.close()
    run = opened(tmp_path / "run")

    assert run.steps.tolist() == list(range(100, 120))
    assert run.reading.dropped == 0
    assert run.manifest.state == "closed"
    assert first.dropped == 31
    assert "another recorder" in caplog.text
    assert validate(tmp_path / "run") == []
