"""A run of several processes is read as one: real processes, one of them killed."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rlprobe import Recorder, diagnose, open_run
from rlprobe.recording.layout import LOCK, MANIFEST, rank_directory
from rlprobe.recording.rank_feed import GRACE, RanksFeed
from rlprobe.recording.rank_rows import merged
from rlprobe.recording.reader import RecordingFeed
from rlprobe.recording.run import Run
from rlprobe.recording.validate import validate
from rlprobe.reports.step import between
from tests.recording.rank_worker import GROUPS, SIZE, reward, rows
from tests.support.disasters import until

STEPS = 5


def spawned(run: Path, world: int, gates: dict[int, Path]) -> dict[int, subprocess.Popen[bytes]]:
    """One process a rank; those with a gate wait there to be killed."""
    out = {}
    for rank in range(world):
        words = [str(run), str(rank), str(world), str(STEPS), *([str(gates[rank])] if rank in gates else [])]
        out[rank] = subprocess.Popen([sys.executable, "-m", "tests.recording.rank_worker", *words])
    return out


def waited(process: subprocess.Popen[bytes], gate: Path) -> None:
    """Wait until the process stands at its gate; it fails the test if it ends before."""
    while not gate.exists():
        try:
            process.wait(0.05)
        except subprocess.TimeoutExpired:
            continue
        raise AssertionError("the process ended before its gate")


@pytest.mark.slow
@pytest.mark.parametrize("world", [2, 4])
def test_ranks_of_a_real_run_are_merged_and_the_killed_one_is_told(tmp_path: Path, world: int) -> None:
    run_dir, gate = tmp_path / "run", tmp_path / "gate"
    processes = spawned(run_dir, world, {world - 1: gate})
    waited(processes[world - 1], gate)
    os.kill(processes[world - 1].pid, signal.SIGKILL)
    assert [process.wait() for process in processes.values()] == [0] * (world - 1) + [-signal.SIGKILL]
    run = open_run(run_dir)

    assert run.steps.tolist() == list(range(1, STEPS + 1))
    assert run.column("loss").tolist() == [1 / step for step in range(1, STEPS + 1)]
    assert run.column("rank_step_seconds_max") == pytest.approx([0.1 * world] * STEPS)
    assert run.column("rank_step_seconds_median") == pytest.approx([0.1 * world / 2] * STEPS)
    assert run.column("rank_slowest").tolist() == [world - 1] * STEPS
    assert (
        f"rank {world - 1} of {world} ended without closing its recording, after step 5 where rank 0 is at step 5"
        in (run.reading.notes)
    )
    assert len(run.reading.notes) == 1
    assert run.reading.notes[0] in diagnose(run).notes
    told = {event.fields.get("rank", 0) for event in run.events if event.kind == "custom"}
    assert told == set(range(world))
    assert [event.kind for event in run.events].count("closed") == 1
    assert {problem.id for problem in validate(run_dir)} <= {"JOURNAL_WHOLE"}


@pytest.fixture(scope="module")
def split_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two ranks, one after the other in this process, each with half of every group."""
    run_dir = tmp_path_factory.mktemp("ranks") / "run"
    before = {name: os.environ.get(name) for name in ("RANK", "WORLD_SIZE")}
    for rank in (0, 1):
        os.environ |= {"RANK": str(rank), "WORLD_SIZE": "2"}
        with Recorder(run_dir, record_all_ranks=True, capture="all") as recorder:
            for step in range(1, STEPS + 1):
                recorder.log_step(step, step_seconds=1.0 + rank)
                recorder.log_samples(step, rows(step, rank, 2))
    for name, value in before.items():
        os.environ.pop(name) if value is None else os.environ.update({name: value})
    return run_dir


def test_groups_that_lie_on_two_ranks_have_the_statistics_of_whole_ones(split_run: Path) -> None:
    run = open_run(split_run)
    whole = [[[reward(step, group, i) for i in range(SIZE)] for group in range(GROUPS)] for step in range(1, STEPS + 1)]

    expected = np.std(np.array(whole), axis=2, ddof=1)
    assert run.column("reward_std_group_mean") == pytest.approx(expected.mean(axis=1))
    assert run.column("zero_variance_group_fraction") == pytest.approx((expected == 0).mean(axis=1))
    assert all(event.kind != "group_parts" for event in run.events)
    alone = Run(RecordingFeed(split_run))
    assert not alone.logged("reward_std_group_mean").any()
    assert not alone.logged("duplicate_fraction").any()


def test_samples_of_all_ranks_are_there_once_with_their_rank(split_run: Path) -> None:
    run = open_run(split_run)
    everything, some = run.samples(), run.samples(step=2, columns=("sample", "rank"))

    assert len(everything) == STEPS * GROUPS * SIZE
    assert np.all(np.diff(everything.columns["step"]) >= 0)
    assert sorted(some.columns) == ["rank", "sample"]
    assert sorted(some.columns["sample"].tolist()) == list(range(GROUPS * SIZE))
    assert [sample % SIZE % 2 for sample in some.columns["sample"]] == some.columns["rank"].tolist()
    lengths = [len(tokens) for tokens in everything.columns["token_logprobs"]]
    assert lengths == [rank + 1 for rank in everything.columns["rank"].tolist()]
    tables = [block.table(["rank", "sample", "step"]) for block in run.sample_blocks()]
    assert sum(table.num_rows for table in tables) == len(everything)
    assert {value.as_py() for table in tables for value in table.column("rank")} == {0, 1}


def test_a_rank_that_lags_is_found_from_what_every_rank_recorded_alone(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    for rank in (0, 1):
        monkeypatch.setenv("RANK", str(rank))
        with Recorder(tmp_path / "run", record_all_ranks=True) as recorder:
            for step in range(1, 121):
                slow = 2.5 if rank == 1 and step > 60 else 1.0
                recorder.log_step(step, step_seconds=3.0, busy_seconds=slow + 0.01 * ((step * 7 + rank) % 5))
    run = open_run(tmp_path / "run")

    (finding,) = diagnose(run).findings
    assert (finding.id, finding.onset_step) == ("RANK_DIVERGENCE", 61)
    assert set(run.column("rank_slowest")[60:]) == {1}


def test_a_rank_that_left_nothing_is_told_and_one_that_was_not_asked_is_not(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "3")
    for name, every in (("all", True), ("first", False)):
        with Recorder(tmp_path / name, record_all_ranks=every) as recorder:
            recorder.log_step(1, loss=1.0)

    assert open_run(tmp_path / "all").reading.notes == (
        "rank 1 of 3 left no recording",
        "rank 2 of 3 left no recording",
    )
    assert open_run(tmp_path / "first").reading.notes == ()


def test_events_of_a_window_stand_in_the_order_of_their_steps(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    for rank in ("0", "1"):
        monkeypatch.setenv("RANK", rank)
        with Recorder(tmp_path / "run", record_all_ranks=True) as recorder:
            for step in (1, 2, 3):
                recorder.log_step(step, loss=1.0)
                recorder.log_event("custom", step)
    told = [(event.step, event.fields.get("rank", 0)) for event in between(open_run(tmp_path / "run"), 1, 3).events]

    assert [pair for pair in told if pair[0] > 1] == [(2, 0), (2, 1), (3, 0), (3, 1)]


def test_the_recording_of_another_rank_alone_says_what_it_is(split_run: Path) -> None:
    told = ("this is what rank 1 of 2 recorded alone; the run is the folder above it",)

    assert open_run(rank_directory(split_run, 1)).reading.notes == told
    assert open_run(split_run).reading.notes == ()


def test_a_rank_without_a_sign_of_life_is_told_though_nobody_can_ask_its_host(tmp_path: Path, monkeypatch) -> None:
    """Its lock is held, as on another host's file system without locks; only the lock's time grows old."""
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setattr("rlprobe.recorder.worker._SYNC_EVERY", 1e9)  # or its next sign of life may come too soon
    first = Recorder(tmp_path / "run", record_all_ranks=True)
    monkeypatch.setenv("RANK", "1")
    second = Recorder(tmp_path / "run", record_all_ranks=True)
    for recorder in (first, second):
        recorder.log_step(1, loss=1.0)
        assert recorder.flush(60)
    newest = (tmp_path / "run" / LOCK).stat().st_mtime
    lock = rank_directory(tmp_path / "run", 1) / LOCK
    os.utime(lock, (newest, newest))  # however long this process had to wait in between
    healthy = open_run(tmp_path / "run").reading.notes
    os.utime(lock, (newest - 90, newest - 90))
    silent = open_run(tmp_path / "run").reading.notes
    first.close()
    second.close()

    assert healthy == ()
    assert silent == ("rank 1 of 2 has given no sign of life for 90 s, after step 1 where rank 0 is at step 1",)


def test_what_is_told_of_a_rank_stays_told_when_rank_0_tells_something_else(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    with Recorder(tmp_path / "run", record_all_ranks=True) as recorder:
        recorder.log_step(1, loss=1.0)
    run = open_run(tmp_path / "run")
    told = run.reading
    (tmp_path / "run" / MANIFEST).touch()  # as a recorder does that has learnt something of its machine
    run.refresh()

    assert run.reading == told
    assert told.notes == ("rank 1 of 2 left no recording",)
    assert [(one.rank, one.state, one.lost) for one in told.ranks] == [(1, "absent", False)]


def test_a_resumed_run_takes_back_the_samples_of_every_rank(tmp_path: Path, monkeypatch) -> None:
    for steps in (range(1, 5), range(3, 7)):
        for rank, world in ((0, 2), (1, 2)):
            monkeypatch.setenv("RANK", str(rank))
            monkeypatch.setenv("WORLD_SIZE", str(world))
            with Recorder(tmp_path / "run", record_all_ranks=True, capture="all") as recorder:
                for step in steps:
                    recorder.log_step(step, step_seconds=float(step))
                    recorder.log_samples(step, [{"sample": rank, "reward": float(steps.start)}])
    run = open_run(tmp_path / "run")
    samples = run.samples()

    assert run.rewinds == 1
    assert list(zip(samples.columns["step"].tolist(), samples.columns["rank"].tolist(), strict=True)) == [
        (step, rank) for step in range(1, 7) for rank in (0, 1)
    ]
    assert samples.columns["reward"].tolist() == [1.0] * 4 + [3.0] * 8
    assert samples.columns["segment"].tolist() == [0] * 4 + [1] * 8


def test_times_that_come_late_are_read_as_if_they_had_been_there(tmp_path: Path, monkeypatch) -> None:
    """Rank 0's row waits for a moment, then goes out, and comes again with the late time."""
    clock = [0.0]
    monkeypatch.setenv("WORLD_SIZE", "2")
    first = Recorder(tmp_path / "run", record_all_ranks=True)
    monkeypatch.setenv("RANK", "1")
    second = Recorder(tmp_path / "run", record_all_ranks=True)
    for recorder in (first, second):
        recorder.log_step(1, step_seconds=1.0)
        recorder.flush()
    live = Run(RanksFeed(tmp_path / "run", clock=lambda: clock[0]))
    first.log_step(2, step_seconds=1.0)
    first.log_event("custom", 2, message="once")
    first.flush()
    live.refresh()
    waiting = live.rows
    clock[0] += GRACE + 1
    live.refresh()
    without = live.column("rank_step_seconds_max").tolist()
    second.log_step(2, step_seconds=5.0)
    second.flush()
    clock[0] += 60
    live.refresh()
    after = open_run(tmp_path / "run")
    first.close()
    second.close()

    assert waiting == 1
    assert without[0] == 1.0
    assert np.isnan(without[1])
    assert live.column("rank_step_seconds_max").tolist() == after.column("rank_step_seconds_max").tolist() == [1.0, 5.0]
    assert [event.fields["message"] for event in live.events if event.kind == "custom"] == ["once"]


def test_no_part_of_a_group_makes_a_reader_raise() -> None:
    sound = {
        "groups": ["a"],
        "size": [2],
        "here": [1],
        "n": [1],
        "mean": [1.0],
        "squares": [0.0],
        "low": [1.0],
        "high": [1.0],
    }
    broken = [{}, {**sound, "n": ["x"]}, {**sound, "mean": 3}, {**sound, "low": [1.0, 2.0]}, {"groups": None}]

    assert merged(broken) == {}
    assert merged([sound, *broken, sound])["a"].whole


def test_every_process_stops_after_the_same_step_and_rank_0_alone_decides(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("rlprobe.recorder.worker._KEEP_EVERY", 0.01)
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    ranks = []
    for rank in ("0", "1"):
        monkeypatch.setenv("RANK", rank)
        ranks.append(Recorder(tmp_path / "run"))
    (tmp_path / "run" / "control.json").write_text('{"request": "halt", "reason": "enough"}')
    until(lambda: ranks[0].should_stop)
    stopped = {step: [rank.should_stop_after(step) for rank in reversed(ranks)] for step in range(10, 14)}
    named = json.loads((tmp_path / "run" / "stop.json").read_bytes())
    ranks[0].close()
    monkeypatch.setenv("RANK", "0")
    with Recorder(tmp_path / "run") as again:
        later = [again.should_stop_after(14), ranks[1].should_stop_after(14)]
        there = (tmp_path / "run" / "stop.json").exists()

    assert named == {"after_step": 12}
    assert stopped == {10: [False, False], 11: [False, False], 12: [True, True], 13: [True, True]}
    assert later[0] is False
    assert not there
