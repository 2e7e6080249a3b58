import numpy as np
import pytest

from rlprobe import Recorder
from rlprobe.recording.reader import RecordingFeed
from rlprobe.recording.run import Batch, Event, MemoryFeed, Run


def test_a_recording_is_replayed_in_the_order_in_which_it_was_recorded(tmp_path):
    with Recorder(tmp_path / "run", capture="all") as recorder:
        for step in range(3):
            recorder.log_samples(step, [{"reward": 1.0}, {"reward": 2.0}])
            recorder.log_step(step, loss=float(step))
            recorder.log_event("checkpoint", step=step, path="p")
    moments = list(Run(RecordingFeed(tmp_path / "run")).replay())
    told = [("samples" if m.samples else "step" if m.values else m.event.kind, m.step) for m in moments]

    assert told == [(kind, step) for step in range(3) for kind in ("samples", "step", "checkpoint")] + [
        ("closed", None)
    ]
    assert moments[1].values["loss"] == 0.0
    assert len(moments[0].samples) == 2


def test_events_of_a_foreign_log_follow_the_row_of_their_step():
    events = (Event(kind="b", step=2), Event(kind="a", step=1), Event(kind="late", step=9))
    batch = Batch(steps=np.array([1, 2]), columns={}, events=events)
    moments = Run(MemoryFeed("memory", [batch])).replay()

    assert [(m.event.kind if m.event else "row") for m in moments] == ["row", "a", "row", "b", "late"]


def test_speed_waits_in_proportion_to_the_time_that_training_took(tmp_path):
    from rlprobe.recording.replay import replay

    steps = np.array([0, 1, 2])
    batch = Batch(steps=steps, columns={"wall_time": (np.array([10.0, 14.0, 15.0]), np.ones(3, bool))})
    run, waits = Run(MemoryFeed("memory", [batch])), []
    list(replay(run, speed=2, sleep=waits.append))

    assert waits == [2.0, 0.5]
    with pytest.raises(ValueError, match="above 0"):
        list(run.replay(speed=0))
