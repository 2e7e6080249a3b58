"""A reward that rises beside scores of the task: paid for length, learned by heart, or earned."""

import numpy as np
import pytest

from rlprobe.doctor.engine import diagnose
from rlprobe.doctor.finding import Finding
from rlprobe.recording.run import FloatArray, Run
from tests.support.runs import columns_run, course

ROWS = 120


def _found(run: Run, id: str) -> tuple[Finding, ...]:
    return tuple(one for one in diagnose(run).findings if one.id == id)


def _alarms(run: Run, id: str) -> tuple[Finding, ...]:
    return tuple(one for one in _found(run, id) if one.severity != "info" and one.status == "active")


def _flat(level: float, rows: int = ROWS, noise: float = 0.02) -> FloatArray:
    return course(level, level, rows, noise=noise, seed=3)


def test_a_held_out_score_that_falls_while_training_rises_is_a_gap() -> None:
    rows = 200
    asked = np.arange(rows) % 10 == 0
    falling = np.where(asked, np.concatenate([course(0.3, 0.6, 80), course(0.6, 0.3, 120)]), np.nan)
    level = np.where(asked, np.concatenate([course(0.3, 0.6, 80), _flat(0.6, 120, 0.005)]), np.nan)
    train = {"reward_mean": course(0.2, 0.9, rows, noise=0.02)}

    assert [one.subject for one in _alarms(columns_run(train | {"evaluation_score/held": falling}), "EVAL_GAP")] == [
        "held"
    ]
    assert not _found(columns_run(train | {"evaluation_score/held": level}), "EVAL_GAP")


def test_a_held_out_score_that_stays_is_a_gap_only_beside_a_task_that_is_learned() -> None:
    rows = 300
    held = np.where(np.arange(rows) % 10 == 0, _flat(0.3, rows, 0.02), np.nan)
    run = {"reward_mean": course(0.2, 0.9, rows, noise=0.02), "evaluation_score/held": held}
    learned, form = course(0.3, 0.8, rows, noise=0.03), _flat(0.3, rows, 0.03)

    assert _alarms(columns_run(run | {"accuracy_fraction": learned}), "EVAL_GAP")
    assert not _found(columns_run(run | {"accuracy_fraction": form}), "EVAL_GAP")


def test_a_held_out_gain_that_noise_would_hide_is_not_said_to_be_missing() -> None:
    rows = 300
    held = np.where(np.arange(rows) % 10 == 0, _flat(0.3, rows, 0.02), np.nan)
    small = {"reward_mean": course(0.50, 0.55, rows, noise=0.005), "evaluation_score/held": held}

    assert not _found(columns_run(small), "EVAL_GAP")


@pytest.mark.parametrize("seed", range(4))
def test_room_for_an_answer_is_paid_only_until_there_is_room_enough(seed: int) -> None:
    draw = np.random.default_rng(seed)
    run = {
        "reward_mean": course(0.05, 0.2, ROWS, noise=0.03),
        "completion_tokens_mean": np.concatenate([course(100, 180, 40, noise=4), _flat(180.0, ROWS - 40, 4)]),
        "accuracy_fraction": _flat(0.3, ROWS, 0.05),
    }
    fades = np.concatenate([course(0.7, 0.2, 30), np.full(ROWS - 30, 0.2)]) + 0.13 * draw.standard_normal(ROWS)
    stays = 0.65 + 0.13 * draw.standard_normal(ROWS)

    assert not _found(columns_run(run | {"length_reward_correlation": fades}), "REWARD_HACK_LENGTH")
    assert _alarms(columns_run(run | {"length_reward_correlation": stays}), "REWARD_HACK_LENGTH")


def test_length_that_rises_with_the_reward_and_not_with_the_task_is_told_without_the_correlation() -> None:
    grown = {
        "reward_mean": course(0.2, 0.9, ROWS, noise=0.03),
        "completion_tokens_mean": course(100, 400, ROWS, noise=10),
    }
    flat, rising = {"accuracy_fraction": _flat(0.3)}, {"accuracy_fraction": course(0.2, 0.6, ROWS, noise=0.03)}

    assert _alarms(columns_run(grown | flat), "REWARD_HACK_LENGTH")
    assert not _found(columns_run(grown | rising), "REWARD_HACK_LENGTH")
    assert not _found(columns_run(grown), "REWARD_HACK_LENGTH")
