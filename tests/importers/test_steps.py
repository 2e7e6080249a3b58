from pathlib import Path

import pytest

from rlprobe.opening import UnreadableSource
from tests.support.logs import logged_values, run_of

Row = dict[str, object]


def _rows(*steps: int, start: float = 0.0) -> list[Row]:
    return [{"step": step, "reward": start + index, "loss": 0.1} for index, step in enumerate(steps)]


@pytest.mark.parametrize(
    "key",
    [
        "step",
        "Step",
        "global_step",
        "training/global_step",
        "_step",
        "progress/batch",
        "train/global_step",
        "iteration",
    ],
)
def test_the_step_is_read_under_every_name_it_has(tmp_path: Path, key: str) -> None:
    run = run_of(tmp_path, {key: 5, "reward": 1.0}, {key: 10, "reward": 2.0})

    assert run.steps.tolist() == [5, 10]
    assert run.metrics == ("reward_mean",)


def test_a_step_with_its_goal_behind_a_slash_is_read(tmp_path: Path) -> None:
    run = run_of(tmp_path, {"global_step/max_steps": "10/438", "reward": 1.0})

    assert run.steps.tolist() == [10]


def test_a_log_without_steps_counts_its_rows(tmp_path: Path) -> None:
    assert run_of(tmp_path, {"reward": 1.0}, {"reward": 2.0}).steps.tolist() == [0, 1]


def test_a_step_may_count_episodes(tmp_path: Path) -> None:
    assert run_of(tmp_path, *_rows(256, 512, 768)).steps.tolist() == [256, 512, 768]


def test_rows_that_split_a_step_become_one_row(tmp_path: Path) -> None:
    run = run_of(tmp_path, {"step": 1, "reward": 1.0}, {"step": 1, "entropy": 0.5}, {"step": 2, "reward": 2.0})

    assert run.steps.tolist() == [1, 2]
    assert logged_values(run, "entropy_mean") == {1: 0.5}


def test_a_metric_logged_twice_in_a_step_is_averaged_and_that_is_said(tmp_path: Path) -> None:
    run = run_of(tmp_path, {"step": 1, "loss": 1.0, "reward": 3.0}, {"step": 1, "loss": 2.0})

    assert logged_values(run, "loss") == {1: 1.5}
    assert logged_values(run, "reward_mean") == {1: 3.0}
    assert any("mean" in note for note in run.reading.notes)


def test_a_resume_replaces_the_rows_from_its_step_on(tmp_path: Path) -> None:
    run = run_of(tmp_path, *_rows(1, 2, 3, 4, 5), *_rows(4, 5, 6, start=100.0))

    assert run.steps.tolist() == [1, 2, 3, 4, 5, 6]
    assert logged_values(run, "reward_mean")[4] == 100.0
    assert len(run.segments) == 2
    assert [(event.kind, event.step) for event in run.events] == [("resume", 4)]


def test_of_appended_runs_the_last_is_read_and_all_are_listed(tmp_path: Path) -> None:
    run = run_of(tmp_path, *_rows(1, 2, 3, 4, 5), *_rows(1, 2, 3, start=100.0))

    assert run.steps.tolist() == [1, 2, 3]
    assert logged_values(run, "reward_mean")[1] == 100.0
    assert "2 runs are appended" in run.reading.notes[0]


def test_any_appended_run_can_be_asked_for(tmp_path: Path) -> None:
    rows = [*_rows(1, 2, 3, 4, 5), *_rows(1, 2, 3, start=100.0)]

    assert run_of(tmp_path, *rows, run=1).steps.tolist() == [1, 2, 3, 4, 5]
    assert logged_values(run_of(tmp_path, *rows, run=2), "reward_mean") == {1: 100.0, 2: 101.0, 3: 102.0}
    with pytest.raises(UnreadableSource, match="run number"):
        run_of(tmp_path, *rows, run=3)


def test_an_evaluation_that_ends_late_joins_the_newest_row(tmp_path: Path) -> None:
    run = run_of(tmp_path, *_rows(1, 2, 3), {"step": 2, "eval_reward": 0.9}, *_rows(4))

    assert run.steps.tolist() == [1, 2, 3, 4]
    assert logged_values(run, "evaluation_score/reward") == {3: 0.9}
    assert run.rewinds == 0


def test_evaluation_and_summary_rows_stay_out_of_training_columns(tmp_path: Path) -> None:
    run = run_of(
        tmp_path,
        *_rows(1, 2),
        {"step": 2, "eval_reward": 9.0, "eval_loss": 8.0, "eval_runtime": 3.0},
        {"step": 2, "train_runtime": 100.0, "train_loss": 7.0, "epoch": 1.0},
    )

    assert logged_values(run, "reward_mean") == {1: 0.0, 2: 1.0}
    assert logged_values(run, "loss") == {1: 0.1, 2: 0.1}
    assert logged_values(run, "evaluation_score/reward") == {2: 9.0}
    assert "train_loss" not in run.metrics


def test_a_final_row_without_a_step_belongs_to_the_last_step(tmp_path: Path) -> None:
    run = run_of(tmp_path, *_rows(1, 2), {"eval_reward": 0.5})

    assert logged_values(run, "evaluation_score/reward") == {2: 0.5}


def test_an_evaluation_far_behind_takes_no_training_row_away(tmp_path: Path) -> None:
    run = run_of(tmp_path, *_rows(*range(1, 30)), {"step": 5, "eval_reward": 0.9, "eval_loss": 1.0, "name": "x"})

    assert run.rows == 29
    assert logged_values(run, "evaluation_score/reward") == {29: 0.9}


def test_a_run_that_begins_with_a_validation_row_is_still_a_new_run(tmp_path: Path) -> None:
    one = [{"step": 0, "val-core/a/acc/mean@1": 0.1}, *({"step": n, "critic/score/mean": 0.5} for n in range(1, 9))]

    run = run_of(tmp_path, *one, *one[:4])

    assert len(run.segments) == 2
    assert run.steps.tolist() == [0, 1, 2, 3]
    assert "2 runs are appended" in run.reading.notes[0]


def test_a_null_step_falls_back_to_the_next_step_key(tmp_path: Path) -> None:
    assert run_of(tmp_path, {"step": None, "global_step": 7, "reward": 1.0}).steps.tolist() == [7]
