import json
import os
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from rlprobe.opening import open_run
from tests.support.corpus import runs_directory
from tests.support.logs import contents, logged_values, write_rows


def _lines(*steps: int) -> bytes:
    return b"".join(json.dumps({"step": step, "reward": float(step)}).encode() + b"\n" for step in steps)


def test_a_growing_file_is_read_on_from_where_it_stopped(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(_lines(1, 2))
    run = open_run(path)
    with path.open("ab") as file:
        file.write(_lines(3))

    assert run.refresh() == 1
    assert run.steps.tolist() == [1, 2, 3]
    assert run.refresh() == 0


def test_a_line_counts_only_once_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    whole = _lines(1, 2)
    path.write_bytes(whole[:-8])
    run = open_run(path)

    assert run.steps.tolist() == [1]
    assert run.reading.unreadable == 1

    path.write_bytes(whole)
    run.refresh()
    assert run.steps.tolist() == [1, 2]
    assert run.reading.unreadable == 0


def test_a_row_that_was_told_to_be_complete_is_told_anew_when_its_step_goes_on(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "log.jsonl", [{"step": 1, "reward": 0.5}, {"step": 2, "reward": 0.7}])
    run = open_run(path)
    with path.open("a") as file:
        file.write('{"step": 2, "entropy": 0.3}\n')
    run.refresh()

    assert run.revisions == 1
    assert run.complete == 1
    assert logged_values(run, "reward_mean") == {1: 0.5, 2: 0.7}
    assert logged_values(run, "entropy_mean") == {2: 0.3}


def test_a_last_line_without_an_end_is_read_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(_lines(1, 2).rstrip(b"\n"))
    run = open_run(path)
    with path.open("ab") as file:
        file.write(b"\n" + _lines(3))
    run.refresh()

    assert run.steps.tolist() == [1, 2, 3]


def test_a_file_that_was_replaced_is_read_from_its_start(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(_lines(1, 2, 3))
    run = open_run(path)
    other = tmp_path / "other"
    other.write_bytes(_lines(2, 3, 4, 5))
    os.replace(other, path)
    run.refresh()

    assert run.steps.tolist() == [1, 2, 3, 4, 5]
    assert run.rewinds == 1
    assert any("replaced" in note for note in run.reading.notes)


def test_a_file_that_vanishes_leaves_the_run_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(_lines(1, 2))
    run = open_run(path)
    path.unlink()

    assert run.refresh() == 0
    assert run.steps.tolist() == [1, 2]


_ROW = st.fixed_dictionaries(
    {"step": st.integers(0, 6)},
    optional={
        "reward": st.one_of(st.none(), st.floats(0, 1)),
        "kl": st.one_of(st.none(), st.just("nan"), st.floats(0, 1)),
        "critic/score/mean": st.floats(0, 1),
        "critic/rewards/mean": st.floats(0, 1),
        "completions/mean_length": st.integers(0, 9),
        "eval_reward": st.floats(0, 1),
        "train/actor_loss": st.floats(0, 1),
        "value": st.sampled_from([0.5, 0.25]),
    },
)


@settings(max_examples=50, deadline=None)
@given(rows=st.lists(_ROW, max_size=24), cut=st.integers(0, 24))
def test_rows_read_in_two_polls_are_the_rows_read_in_one(
    tmp_path_factory: object, rows: list[dict[str, object]], cut: int
) -> None:
    folder = tmp_path_factory.mktemp("log")  # type: ignore[attr-defined]  # pytest's factory
    path = write_rows(folder / "log.jsonl", [{"step": 0, "loss": 1.0}, *rows[:cut]])
    grown = open_run(path)
    with path.open("a") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows[cut:])
    grown.refresh()

    whole = open_run(path)
    assert contents(grown) == contents(whole)
    assert grown.steps.tolist() == whole.steps.tolist()
    assert grown.rewinds == whole.rewinds
    assert grown.manifest == whole.manifest
    assert grown.reading == whole.reading


def test_a_real_log_read_row_by_row_is_the_log_read_at_once(tmp_path: Path) -> None:
    root = runs_directory()
    if root is None:
        import pytest

        pytest.skip("the labelled runs are not here")
    import gzip

    lines = gzip.decompress((root / "rhe-05.jsonl.gz").read_bytes()).splitlines(keepends=True)
    path = tmp_path / "log.jsonl"
    path.write_bytes(lines[0])
    grown = open_run(path)
    for line in lines[1:]:
        with path.open("ab") as file:
            file.write(line)
        grown.refresh()

    whole = open_run(path)
    assert contents(grown) == contents(whole)
    assert logged_values(grown, "reward_mean")
    assert grown.manifest == whole.manifest
