"""Logs as people have them: pasted into an issue, exported from a chart, written beside a log."""

import json
from pathlib import Path

import pytest

from rlprobe.opening import open_run
from tests.support.logs import logged_values, run_of

_ISSUE = """Step | Training Loss | reward | reward_std | completion_length | kl | rewards / match_format_exactly
-- | -- | -- | -- | -- | -- | --
1 | 0.000000 | -1.25 | 1.5 | 445.5 | 0.0 | 0.0
2 | -0.000000 | -0.5 | 1.7 | 389.25 | No Log | 0.0
3 | 0.000000 | 0.25 | 0.0 | 452.0 | 0.00001 | 0.5
"""
_PIPED = """
| Step | Training Loss | reward | kl |
|------|:-------------:|-------:|----|
| 1 | 0.0 | -1.25 | 0.0 |
| 2 | 0.0 | -0.5 | 0.0 |
| 3 | 0.0 | 0.25 | 0.00001 |
"""


@pytest.mark.parametrize("text", [_ISSUE, _PIPED])
def test_a_markdown_table_is_read(tmp_path: Path, text: str) -> None:
    path = tmp_path / "pasted.md"
    path.write_text(text)

    run = open_run(path)

    assert run.steps.tolist() == [1, 2, 3]
    assert logged_values(run, "reward_mean") == {1: -1.25, 2: -0.5, 3: 0.25}
    assert logged_values(run, "kl_mean")[3] == 0.00001
    assert run.reading.unreadable == 0
    if "match_format" in text:
        assert logged_values(run, "reward_component_mean/match_format_exactly")[3] == 0.5


def test_a_chart_of_one_run_exported_by_wandb_is_read_by_its_keys(tmp_path: Path) -> None:
    path = tmp_path / "wandb_export.csv"
    path.write_text(
        '"Step","a - run - train/reward","a - run - train/reward__MIN","a - run - train/reward__MAX"\n'.replace(
            "a - run", "qwen-1"
        )
        + "".join(f'"{n}","0.{n}","0.{n}","0.{n}"\n' for n in range(1, 4))
    )

    run = open_run(path)

    assert logged_values(run, "reward_mean") == {1: 0.1, 2: 0.2, 3: 0.3}
    assert run.reading.unknown_keys == ()


def test_a_chart_of_several_runs_keeps_their_names(tmp_path: Path) -> None:
    path = tmp_path / "wandb_export.csv"
    path.write_text(
        '"Step","a - train/reward","a - train/reward__MIN","b - train/reward","b - train/reward__MIN"\n1,1,1,2,2\n'
    )

    assert "a - train/reward" in open_run(path).metrics


def test_a_key_with_a_dash_of_its_own_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("step,reward,train - extra\n1,0.5,2\n")

    assert "train - extra" in open_run(path).metrics


def test_steps_of_llama_factorys_log_are_its_own(tmp_path: Path) -> None:
    run = run_of(
        tmp_path, *({"current_steps": 10 * n, "total_steps": 90, "loss": 0.1, "reward": 0.5} for n in (1, 2, 3))
    )

    assert run.steps.tolist() == [10, 20, 30]


def test_names_of_torchtunes_log_are_read(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    path.write_text(
        "".join(
            f"Step {n} | loss:0.01 rewards:0.45 successes:0.31 ratios:1.0 response_lengths:211.5 \n" for n in (1, 2)
        )
    )

    run = open_run(path)

    assert logged_values(run, "reward_mean") == {1: 0.45, 2: 0.45}
    assert logged_values(run, "accuracy_fraction")[2] == 0.31
    assert logged_values(run, "completion_tokens_mean")[2] == 211.5


@pytest.mark.parametrize(
    "line",
    [
        "(main_task pid=7) step:{n} - actor/entropy:0.4 - critic/score/mean:0.{n} - response_length/mean:71.0",
        "\x1b[36m(TaskRunner pid=7)\x1b[0m step:{n} - actor/entropy:0.4 - critic/score/mean:0.{n}",
        "Step {n}/9 | loss: 0.1 | mean_reward: 0.{n} | KL: 0.01",
    ],
)
def test_what_a_loop_or_verl_printed_in_a_notebook_is_read(tmp_path: Path, line: str) -> None:
    printed = "".join(["Loading weights\n", *(line.format(n=n) + "\n" for n in range(1, 6))])
    cell = {"cell_type": "code", "source": "train()", "outputs": [{"output_type": "stream", "text": printed}]}
    path = tmp_path / "train.ipynb"
    path.write_text(json.dumps({"cells": [cell], "nbformat": 4}))

    assert logged_values(open_run(path), "reward_mean") == {n: n / 10 for n in range(1, 6)}
