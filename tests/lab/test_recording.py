"""The lab records through the recorder's public methods, and a run in memory holds the same rows."""

from pathlib import Path

import numpy as np
import pytest

from rlprobe import lab
from rlprobe.opening import open_run


class _Kept:
    """A recorder that keeps what it is told."""

    def __init__(self) -> None:
        self.steps: list[tuple[int, dict[str, object]]] = []
        self.samples: list[tuple[int, int]] = []
        self.events: list[str] = []

    def log_step(self, step, metrics=None, /, **named):
        self.steps.append((step, dict(metrics)))

    def log_samples(self, step, rows, *, owned=False):
        self.samples.append((step, len(rows)))

    def log_event(self, kind, step=None, **fields):
        self.events.append(kind)

    def close(self, timeout=60.0):
        raise AssertionError("a recorder that was handed over is the caller's to close")


def test_any_object_with_the_recorders_methods_is_recorded_into() -> None:
    kept = _Kept()
    lab.train("healthy-grpo", kept, steps=4, seed=0)
    run = lab.run_in_memory("healthy-grpo", 4, seed=0)
    assert [step for step, _ in kept.steps] == [1, 2, 3, 4] == run.steps.tolist()
    assert all(kept.steps[2][1][name] == run.column(name)[2] for name in run.metrics if run.logged(name)[2])
    assert kept.samples == [(step, 64) for step in (1, 2, 3, 4)]


def test_a_loop_that_logs_every_tenth_step_still_hands_over_every_sample() -> None:
    kept = _Kept()
    lab.train("healthy-logging-10", kept, steps=25, seed=0)
    assert [step for step, _ in kept.steps] == [10, 20, 25]
    assert len(kept.samples) == 25


def test_a_recording_on_disk_holds_the_rows_of_the_run_in_memory(tmp_path: Path) -> None:
    lab.train("healthy-resume", tmp_path / "run", steps=20, seed=0)
    run, memory = open_run(tmp_path / "run"), lab.run_in_memory("healthy-resume", 20, seed=0)
    assert run.steps.tolist() == memory.steps.tolist()
    assert [segment.rows for segment in run.segments] == [segment.rows for segment in memory.segments] == [10, 10]
    for name in memory.metrics:
        np.testing.assert_array_equal(run.logged(name), memory.logged(name), err_msg=name)
        np.testing.assert_array_equal(run.column(name), memory.column(name), err_msg=name)
    assert run.algorithm == "grpo"
    assert dict(run.manifest.settings) == dict(memory.manifest.settings)
    assert run.metadata("kl_mean").estimator == memory.metadata("kl_mean").estimator == "k3"
    assert run.reading.dropped == run.reading.bad_values == 0


def test_sample_rows_say_what_was_paid_for_and_what_the_reward_received() -> None:
    rows = lab.run_in_memory("wrong-text", 2, seed=0).samples(step=1).columns
    assert len(rows["completion"]) == 64
    assert rows["reward_text/correct"][0] == rows["completion"][1] != rows["completion"][0]
    np.testing.assert_allclose(rows["reward"], rows["reward/correct"] + 0.2 * rows["reward/format"])
    assert set(rows["stop_reason"]) <= {"eos", "length"}


def test_an_unknown_name_is_refused_in_one_line_that_lists_the_known_ones() -> None:
    with pytest.raises(lab.UnknownName, match=r"expected the name .* got 'lenght-hack'.*length-hack"):
        lab.run_in_memory("lenght-hack")
    with pytest.raises(ValueError, match="expected steps >= 1, got 0"):
        lab.run_in_memory("length-hack", 0)
