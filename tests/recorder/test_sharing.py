"""Forks, threads, processes and sessions that share a recorder or a directory."""

import os
import threading

import pytest

from rlprobe import Recorder
from rlprobe.recorder.recorder import RunInUse
from rlprobe.recording.reader import RecordingFeed
from rlprobe.recording.run import Run
from rlprobe.recording.validate import validate
from tests.support.disasters import opened, python


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
