"""More rows, names and bytes than a recorder can take: what does not fit is counted, the rest is whole."""

from rlprobe import Recorder
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
