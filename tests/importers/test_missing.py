import math
from pathlib import Path

from tests.support.logs import logged_values, run_of


def test_null_after_a_row_of_numbers_is_a_logged_nan(tmp_path: Path) -> None:
    rows = [{"step": step, "kl": 0.1, "reward": 1.0} for step in range(4)]
    rows += [{"step": step, "kl": None, "reward": 1.0} for step in (4, 5)]

    kl = logged_values(run_of(tmp_path, *rows), "kl_mean")

    assert sorted(kl) == [0, 1, 2, 3, 4, 5]
    assert math.isnan(kl[4])
    assert math.isnan(kl[5])


def test_null_in_a_metric_that_is_logged_now_and_then_is_nothing(tmp_path: Path) -> None:
    rows = [{"step": step, "reward": 1.0, "entropy": 0.5 if step % 5 == 0 else None} for step in range(20)]

    assert sorted(logged_values(run_of(tmp_path, *rows), "entropy_mean")) == [0, 5, 10, 15]


def test_null_in_a_metric_never_a_number_is_nothing(tmp_path: Path) -> None:
    run = run_of(tmp_path, *({"step": step, "reward": 1.0, "kl": None} for step in range(6)))

    assert "kl_mean" not in run.metrics


def test_training_metrics_null_on_an_evaluation_row_are_nothing(tmp_path: Path) -> None:
    rows = [{"step": step, "reward": 1.0, "kl": 0.1, "eval_reward": None} for step in range(5)]
    rows.append({"step": 5, "reward": None, "kl": None, "eval_reward": 0.7})

    run = run_of(tmp_path, *rows)

    assert 5 not in logged_values(run, "kl_mean")
    assert logged_values(run, "evaluation_score/reward") == {5: 0.7}


def test_rollout_numbers_repeated_by_every_update_count_once(tmp_path: Path) -> None:
    rows = [
        {
            "step": 2 * rollout + update,
            "reward": 0.1 * rollout,
            "value": 0.3 + rollout,
            "advantages": 0.2,
            "train/max_ratio": 1.0 + update,
        }
        for rollout in range(3)
        for update in range(2)
    ]

    run = run_of(tmp_path, *rows)

    assert sorted(logged_values(run, "reward_mean")) == [0, 2, 4]
    assert sorted(logged_values(run, "ratio_max")) == [0, 1, 2, 3, 4, 5]
    assert any("repeat" in note for note in run.reading.notes)


def test_a_constant_rollout_number_beside_changing_ones_is_no_repeat(tmp_path: Path) -> None:
    rows = [{"step": step, "reward": 0.1 * step, "advantages": 0.0, "train/actor_loss": 0.0} for step in range(4)]

    assert sorted(logged_values(run_of(tmp_path, *rows), "advantage_mean")) == [0, 1, 2, 3]


def test_constant_zero_placeholders_are_kept_as_logged(tmp_path: Path) -> None:
    run = run_of(tmp_path, *({"step": step, "reward": 1.0, "clip_ratio/region_mean": 0.0} for step in range(3)))

    assert logged_values(run, "clip_fraction") == {0: 0.0, 1: 0.0, 2: 0.0}
    assert "by construction" in run.metadata("clip_fraction").note


def test_nulls_of_a_table_with_the_union_of_all_keys_are_nothing(tmp_path: Path) -> None:
    rows = [{"step": step, "reward": 1.0, "kl": 0.1, "grad_norm": None if step == 0 else 1.0} for step in range(6)]
    rows.append({"step": 6, "reward": 1.0, "kl": None, "grad_norm": 1.0})

    assert 6 not in logged_values(run_of(tmp_path, *rows), "kl_mean")


def test_a_row_in_which_most_metrics_are_null_is_another_kind_of_row(tmp_path: Path) -> None:
    rows = [{"step": step, "reward": 1.0, "kl": 0.1, "entropy": 0.5} for step in range(6)]
    rows.append({"step": 6, "reward": 1.0, "kl": None, "entropy": None})

    run = run_of(tmp_path, *rows)

    assert 6 not in logged_values(run, "kl_mean")
    assert 6 not in logged_values(run, "entropy_mean")
