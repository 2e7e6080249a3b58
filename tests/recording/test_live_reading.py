"""A reader beside a writer sees what a reader afterwards sees, whatever the order of logging, snapshots and polls."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from rlprobe.recorder.items import SamplesItem, StepItem
from rlprobe.recorder.sampling import SamplePolicy
from rlprobe.recorder.session import Session
from rlprobe.recording import snapshot as snapshots
from rlprobe.recording.reader import RecordingFeed
from rlprobe.recording.run import Run


def session(root: Path, segment: int = 0) -> Session:
    root.mkdir(exist_ok=True)
    document = {"run_id": "r", "state": "recording", "segments": [{"index": n} for n in range(segment + 1)]}
    return Session(root, segment, document, policy=SamplePolicy(), capture_text=True)


def rows_of(run: Run) -> dict[int, dict[str, float]]:
    return {
        int(step): {n: float(run.column(n)[row]) for n in run.metrics if n != "wall_time" and run.logged(n)[row]}
        for row, step in enumerate(run.steps)
    }


_ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("log"), st.integers(0, 12), st.dictionaries(st.sampled_from("abc"), st.floats(), max_size=2)),
        st.tuples(
            st.just("ahead"), st.integers(1, 3), st.dictionaries(st.sampled_from("abc"), st.floats(), max_size=2)
        ),
        st.tuples(st.sampled_from(["poll", "snapshot", "resume"])),
    ),
    max_size=40,
)


@pytest.mark.slow
@given(_ACTIONS)
@example([("log", 1, {"a": 0.0}), ("poll",), ("resume",), ("log", 0, {}), ("log", 1, {}), ("snapshot",)])
@example([("log", 0, {}), ("log", 1, {}), ("resume",), ("log", 1, {}), ("poll",), ("log", 0, {})])
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_live_and_afterwards_agree_for_any_order_of_logging_snapshots_and_polls(tmp_path_factory, actions):
    root = tmp_path_factory.mktemp("run")
    writer, segment, highest = session(root), 0, -1
    live = Run(RecordingFeed(root))
    expected: dict[int, dict[str, float]] = {}
    own: dict[int, dict[str, float]] = {}
    older: dict[int, dict[str, float]] = {}
    for action in actions:
        if action[0] in ("log", "ahead"):
            step = action[1] if action[0] == "log" else highest + action[1]
            highest = max(highest, step)
            writer.write([StepItem(step, 1.0, action[2])])
            own.setdefault(step, {}).update(action[2])
        elif action[0] == "poll":
            live.refresh()
        elif action[0] == "snapshot":
            writer.snapshot()
        else:
            writer.finish("closed")
            older = {**{s: v for s, v in older.items() if not own or s < min(own)}, **own}
            own, segment = {}, segment + 1
            writer = session(root, segment)
    expected = {**{s: v for s, v in older.items() if not own or s < min(own)}, **own}
    live.refresh()
    afterwards = Run(RecordingFeed(root))

    assert _same(rows_of(afterwards), expected)
    assert _same(rows_of(live), expected)
    assert live.rewinds == afterwards.rewinds


def _same(one: dict[int, dict[str, float]], other: dict[int, dict[str, float]]) -> bool:
    return one.keys() == other.keys() and all(
        values.keys() == other[step].keys()
        and all(np.array_equal(values[name], other[step][name], equal_nan=True) for name in values)
        for step, values in one.items()
    )


def test_a_snapshot_in_pieces_holds_what_was_logged(tmp_path, monkeypatch):
    monkeypatch.setattr(snapshots, "_PIECE_BYTES", 400)
    writer = session(tmp_path / "run")
    writer.steps.limit = 150
    expected: dict[int, dict[str, float]] = {}
    for step in range(40):
        late = max(0, step - 3)
        writer.write([StepItem(step, 1.0, {"a": float(step)}), StepItem(late, 1.0, {"late": float(step)})])
        expected.setdefault(step, {})["a"] = float(step)
        expected[late]["late"] = float(step)
    assert len(list((tmp_path / "run" / "journal").iterdir())) == 20

    writer.snapshot()
    assert _same(rows_of(Run(RecordingFeed(tmp_path / "run"))), expected)
    assert len(list((tmp_path / "run" / "journal").iterdir())) < 5

    writer.finish("closed")
    assert _same(rows_of(Run(RecordingFeed(tmp_path / "run"))), expected)


def test_a_poll_without_news_reads_nothing_again(tmp_path):
    writer = session(tmp_path / "run")
    writer.write([StepItem(n, 1.0, {"a": 1.0}) for n in range(50)])
    run = Run(RecordingFeed(tmp_path / "run"))

    assert run.refresh() == 0
    writer.write([StepItem(50, 1.0, {"a": 2.0})])
    assert run.refresh() == 1
    writer.snapshot()
    assert run.refresh() == 0
    writer.write([StepItem(51, 1.0, {"a": 2.0})])
    assert run.refresh() == 1
    assert run.rows == 52


def test_statistics_of_samples_never_replace_what_was_logged(tmp_path):
    writer = session(tmp_path / "run")
    rows = [{"reward": 1.0, "completion_tokens": 3}, {"reward": 3.0, "completion_tokens": 5}]
    writer.write([StepItem(0, 1.0, {"reward_mean": 9.0}), SamplesItem(0, 1.0, rows), StepItem(1, 1.0, {})])
    writer.write([SamplesItem(1, 1.0, rows), StepItem(1, 1.0, {"reward_mean": 7.0}), StepItem(2, 1.0, {})])
    for snapshot in (False, True):
        if snapshot:
            writer.snapshot()
        run = Run(RecordingFeed(tmp_path / "run"))

        assert run.column("reward_mean")[:2].tolist() == [9.0, 7.0]
        assert run.column("reward_max")[:2].tolist() == [3.0, 3.0]


def test_several_calls_for_a_step_are_one_batch_of_samples(tmp_path):
    writer = session(tmp_path / "run")
    writer.write([SamplesItem(0, 1.0, [{"reward": 1.0}])])
    writer.write([SamplesItem(0, 1.0, [{"reward": 5.0}]), StepItem(1, 1.0, {})])

    run = Run(RecordingFeed(tmp_path / "run"))

    assert run.column("reward_mean")[0] == 3.0
    assert run.column("samples_count")[0] == 2
    assert len(run.samples(step=0)) == 2
