"""Forks, threads, processes and sessions that share a recorder or a directory."""

import contextlib
import copy
import ctypes
import gc
import inspect
import multiprocessing
import os
import signal
import sys
import threading
import time
from functools import partial

import pytest

from rlprobe import Recorder
from rlprobe.recorder import worker
from rlprobe.recorder.halting import HaltRequest
from rlprobe.recorder.recorder import RunInUse
from rlprobe.recording.reader import RecordingFeed
from rlprobe.recording.run import Run
from rlprobe.recording.validate import validate
from tests.support.disasters import opened, python, until


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
    looks = []
    monkeypatch.setattr(worker, "_KEEP_EVERY", 0.01)
    monkeypatch.setattr(HaltRequest, "read", lambda halt, read=HaltRequest.read: looks.append(read(halt)))
    with Recorder(tmp_path / "run") as recorder:
        assert not recorder.should_stop
        (tmp_path / "run" / "control.json").write_text("{torn")
        seen = len(looks)
        until(lambda: len(looks) > seen + 1)
        assert not recorder.should_stop
        (tmp_path / "run" / "control.json").write_text('{"request": "halt", "reason": "KL_BLOWUP"}')
        until(lambda: recorder.should_stop)
        assert recorder.stop_reason == "KL_BLOWUP"
    with Recorder(tmp_path / "run") as recorder:
        assert not recorder.should_stop
    halts = [event for event in opened(tmp_path / "run").events if event.kind == "halt"]

    assert [halt.fields["reason"] for halt in halts] == ["KL_BLOWUP"]


def test_threads_that_log_samples_and_events_at_once_lose_and_double_nothing(tmp_path):
    def work(thread: int) -> None:
        for number in range(100):
            step = thread * 1000 + number
            recorder.log_samples(step, [{"completion": f"{step} {n}"} for n in range(2)])
            recorder.log_event("custom", step, mine=step)
            recorder.log_step(step, value=float(step))

    with Recorder(tmp_path / "run") as recorder:
        threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    run = opened(tmp_path / "run")
    steps = sorted(t * 1000 + n for t in range(6) for n in range(100))
    texts = run.samples(columns=("completion",)).columns["completion"]

    assert run.steps.tolist() == steps
    assert sorted(texts) == sorted(f"{step} {n}" for step in steps for n in range(2))
    assert sorted(event.fields["mine"] for event in run.events if event.kind == "custom") == steps


def test_twenty_sessions_each_a_step_further_back_are_one_run(tmp_path):
    newest = {}
    for segment in range(20):
        with Recorder(tmp_path / "run") as recorder:
            for step in range(max(0, 5 * segment - segment % 3), 5 * segment + 5):
                recorder.log_step(step, value=100.0 * segment + step)
                recorder.log_samples(step, [{"reward": float(segment)}])
                newest[step] = segment
    run = opened(tmp_path / "run")

    assert run.steps.tolist() == list(range(100))
    assert run.column("value").tolist() == [100.0 * newest[step] + step for step in range(100)]
    assert run.samples(columns=("reward",)).columns["reward"].tolist() == [float(newest[step]) for step in range(100)]
    assert len(run.manifest.raw["segments"]) == 20
    assert len([event for event in run.events if event.kind == "resume"]) == 19
    assert validate(tmp_path / "run") == []


def in_a_child(recorder: Recorder, answer) -> None:
    recorder.log_step(99, value=9.0)
    recorder.log_samples(99, [{"completion": "x"}])
    recorder.log_event("custom", 99)
    answer.put((recorder.flush(), recorder.should_stop, recorder.dropped, recorder.segment, recorder.close()))


@pytest.mark.slow
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_recorder_that_reaches_another_process_records_nothing_there(tmp_path, method):
    context = multiprocessing.get_context(method)
    with Recorder(tmp_path / "run") as recorder:
        recorder.log_step(0, value=1.0)
        answers = context.SimpleQueue()
        child = context.Process(target=in_a_child, args=(recorder, answers))
        child.start()
        child.join()
        with pytest.raises(RunInUse):
            Recorder(tmp_path / "run")
        recorder.log_step(1, value=2.0)
    run = opened(tmp_path / "run")

    assert child.exitcode == 0
    assert answers.get()[:3] == (True, False, 0)
    assert run.column("value").tolist() == [1.0, 2.0]
    assert [event.kind for event in run.events] == ["closed"]
    assert len(run.samples()) == 0


def test_a_copy_of_a_recorder_records_nothing(tmp_path):
    with Recorder(tmp_path / "run") as recorder:
        for other in (copy.copy(recorder), copy.deepcopy({"trainer": [recorder]})["trainer"][0]):
            other.log_step(9, value=9.0)
            other.close()
        recorder.log_step(0, value=1.0)

    assert opened(tmp_path / "run").column("value").tolist() == [1.0]


def _handlers() -> list[object]:
    return [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]


def _handlers_beside_a_recorder(run: str, answers) -> None:
    with Recorder(run) as recorder:
        recorder.log_step(0, value=1.0)
        answers.put([handler == signal.SIG_DFL or handler is signal.default_int_handler for handler in _handlers()])


def test_a_forked_child_has_the_signals_of_before(tmp_path):
    before = _handlers()
    with Recorder(tmp_path / "run"):
        assert _handlers() != before
        pid = os.fork()
        if pid == 0:
            os._exit(0 if _handlers() == before else 1)
        _, status = os.waitpid(pid, 0)

    assert os.waitstatus_to_exitcode(status) == 0
    assert _handlers() == before


def test_a_signal_reaches_a_forked_child_from_its_first_moment_on(tmp_path):
    """Python forgets one that comes while our handler is still in the child: a pool would wait for it for ever."""
    with Recorder(tmp_path / "run") as recorder:
        recorder.log_step(0, value=1.0)
        ends = set()
        for _ in range(40):
            pid = os.fork()
            if pid == 0:
                time.sleep(5)
                os._exit(9)
            os.kill(pid, signal.SIGTERM)
            ends.add(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
            if ends != {-signal.SIGTERM}:
                break

    assert ends == {-signal.SIGTERM}
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == set()


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_worker_of_multiprocessing_ends_by_the_signal_that_its_pool_sends(tmp_path, method, request):
    """With a handler of Python's it might wait for a lock instead, and its pool for it."""
    for number in (signal.SIGTERM, signal.SIGINT):  # what tests before this one left would be inherited by a fork
        request.addfinalizer(partial(signal.signal, number, signal.signal(number, signal.SIG_DFL)))
    context = multiprocessing.get_context(method)
    answers = context.Queue()
    worker_process = context.Process(target=_handlers_beside_a_recorder, args=(str(tmp_path / "run"), answers))
    worker_process.start()

    assert answers.get(timeout=60) == [True, True]
    worker_process.join()
    assert opened(tmp_path / "run").rows == 1


# A thread that is ended between opening a file and holding it leaves the file to the garbage collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning", "ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("name", ["_thread", "_keeper"])
def test_a_thread_of_the_recorder_that_something_ends_is_started_anew(tmp_path, name, monkeypatch):
    monkeypatch.setattr(worker, "_KEEP_EVERY", 0.01)
    recorder = Recorder(tmp_path / "run")
    for round_ in range(3):
        thread = getattr(recorder._worker, name)
        recorder.log_step(2 * round_, value=1.0)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(SystemExit))
        thread.join()
        recorder.log_step(2 * round_ + 1, value=1.0)
        assert recorder.flush()
    assert recorder.close()
    run = opened(tmp_path / "run")

    assert set(run.steps.tolist()) <= set(range(6))
    assert run.rows + run.reading.dropped >= 6  # what the thread had in its hands is counted, written or not
    assert run.manifest.state == "closed"


def test_calls_that_run_out_of_stack_leave_the_recorder_working(tmp_path):
    """As handlers do that signals put on top of each other: at some depth every call inside the recorder fails."""
    recorder = Recorder(tmp_path / "run")
    told = []

    def at_depth(depth: int, step: int) -> None:
        if depth:
            at_depth(depth - 1, step)
            return
        recorder.log_event("custom", step)
        recorder.log_step(step, value=1.0)
        told.append(step)
        recorder.flush(0.001)

    gc.collect()  # what other tests left would be finalised at a depth where its code has no stack either
    room = sys.getrecursionlimit() - len(inspect.stack())
    for step, depth in enumerate(range(room - 60, room)):
        with contextlib.suppress(RecursionError):
            at_depth(depth, step)
    recorder.log_step(1000, value=1.0)

    assert recorder.flush()
    assert recorder.close()
    steps = opened(tmp_path / "run").steps.tolist()
    assert steps[-1] == 1000
    assert set(steps[:-1]) <= {*range(60)}
    assert len(steps) >= 20  # those that had room for all that a call needs


@pytest.mark.slow
def test_a_signal_that_arrives_inside_a_call_may_log_itself(tmp_path):
    code = """
    import itertools, signal, sys
    from rlprobe import Recorder
    recorder = Recorder(sys.argv[1])
    counter, calls = itertools.count(1), [0]
    def handler(number, frame):
        calls[0] = call = next(counter)
        recorder.log_event("custom", None, mine=call)
        recorder.log_step(100_000 + call, a=1.0)
        recorder.flush(0.001)
    signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
    step = 0
    while calls[0] < 300:
        recorder.log_event("custom", step)
        recorder.log_step(step, a=1.0)
        step += 1
    signal.setitimer(signal.ITIMER_REAL, 0)
    recorder.close()
    print(step + next(counter) - 1)
    """
    finished = python(code, tmp_path / "run")
    run = opened(tmp_path / "run")

    assert finished.returncode == 0, finished.stderr
    assert run.rows + run.reading.dropped == int(finished.stdout)
    assert run.reading.unreadable == 0


def test_a_recorder_that_was_closed_in_haste_frees_the_run_once_it_is_done(tmp_path):
    recorder = Recorder(tmp_path / "run")
    for step in range(5000):
        recorder.log_step(step, value=1.0)
    recorder.close(timeout=0.0)
    recorder._worker._thread.join()
    with Recorder(tmp_path / "run") as second:
        second.log_step(5000, value=1.0)

    assert opened(tmp_path / "run").rows == 5001
