"""More rows, names and bytes than a recorder can take: what does not fit is counted, the rest is whole."""

import threading
import time

from rlprobe import Recorder
from rlprobe.recorder import worker
from rlprobe.recorder.items import ITEM_BYTES
from rlprobe.recorder.worker import Bounds
from rlprobe.recording.validate import validate
from tests.support.disasters import opened


def test_a_flood_that_does_not_fit_is_dropped_counted_and_told(tmp_path):
    recorder = Recorder(tmp_path / "run", bounds=Bounds(items=10))
    for step in range(2000):
        recorder.log_step(step, a=float(step))
    recorder.close()
    run = opened(tmp_path / "run")

    assert run.reading.dropped > 0
    assert run.rows + run.reading.dropped == 2000
    assert sum(event.fields["rows"] for event in run.events if event.kind == "dropped") == run.reading.dropped
    assert run.column("a").tolist() == run.steps.tolist()


def test_a_flood_of_rows_is_read_back_and_what_does_not_fit_is_counted(tmp_path):
    rows = 60_000
    recorder = Recorder(tmp_path / "run", bounds=Bounds(items=20_000))
    for step in range(rows):
        recorder.log_step(step, {"a": step * 0.5, "b": float(-step)})
    recorder.close()
    run = opened(tmp_path / "run")

    assert run.rows + run.reading.dropped == rows
    assert (run.steps[1:] > run.steps[:-1]).all()
    assert (run.column("a") == run.steps * 0.5).all()
    assert (run.column("b") == -run.steps).all()
    assert validate(tmp_path / "run") == []


def test_a_bound_of_bytes_holds_for_large_rows(tmp_path):
    recorder = Recorder(tmp_path / "run", bounds=Bounds(size=100_000))
    for step in range(50):
        recorder.log_samples(step, [{"completion": "x" * 30_000}], owned=True)
        recorder.log_samples(step, [{"completion": "x" * 200_000}], owned=True)
    recorder.close()

    assert recorder.dropped >= 50


def test_the_bound_of_bytes_holds_where_several_threads_log(tmp_path, monkeypatch):
    """Callers sleep a moment where much waits: what others add meanwhile must count."""
    monkeypatch.setattr(worker, "_CROWDED", 50_000)
    monkeypatch.setattr(worker, "_NAP_EVERY", 2)
    recorder = Recorder(tmp_path / "run", bounds=Bounds(size=500_000))
    held = recorder._worker
    monkeypatch.setattr(held.session, "write", lambda items: time.sleep(0.001 * len(items)))
    metrics = {f"metric {number}": 1.0 for number in range(20)}
    small = 8 * 21 + ITEM_BYTES  # bytes of a packed row
    most = []

    def log():
        for step in range(2000):
            recorder.log_step(step, metrics)
            most.append(held._queue.qsize() * small)

    threads = [threading.Thread(target=log) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    monkeypatch.undo()
    recorder.close()

    assert recorder.dropped > 0
    assert max(most) <= 1.2 * 500_000
