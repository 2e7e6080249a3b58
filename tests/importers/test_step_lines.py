"""What loops of one's own print, read from real processes that print it."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rlprobe.opening import UnreadableSource, open_run
from tests.support.logs import contents, logged_values

_LOOP = """
import math, random
chance, rate = 0.2, 0.3
random.seed(0)
for step in range(1, 31):
    rewards = [float(random.random() < chance) for _ in range(16)]
    reward = sum(rewards) / 16
    std = math.sqrt(sum((r - reward) ** 2 for r in rewards) / 16)
    logit = math.log(chance / (1 - chance)) + rate * (1 - chance) * reward
    chance = 1 / (1 + math.exp(-logit))
    entropy = -chance * math.log(chance) - (1 - chance) * math.log(1 - chance)
    print(LINE, flush=True)
"""
_LAYOUTS = {
    "bars": 'f"GRPO step {step}/30 | loss: {-reward:.4f} | mean_reward: {reward:.4f} | entropy: {entropy:.4f}"',
    "brackets": 'f"[Step {step}/30] grad=0.1 | reward={reward:.4f} (std={std:.4f}) | entropy={entropy:.4f} t=2.6s"',
    "epochs": 'f"Epoch:[1/1]({step}/30), Reward: {reward:.4f}, KL_ref: 0.1, Avg Len: 7, Entropy: {entropy:.4f}"',
    "logger": 'f"2026-01-02 12:00:01 INFO iter {step}: avg_reward={reward:.4f}, Entropy: {entropy:.4f}, acc: 45.3%"',
}


def _printed(path: Path, line: str) -> Path:
    with path.open("w") as file:
        subprocess.run([sys.executable, "-c", _LOOP.replace("LINE", line)], stdout=file, check=True)
    return path


@pytest.mark.parametrize("layout", _LAYOUTS)
def test_each_printed_step_is_a_row(tmp_path: Path, layout: str) -> None:
    path = _printed(tmp_path / "console", _LAYOUTS[layout])
    log = path.read_text()
    path.write_text("Loading weights: 100%\nreward model: ready\n" + log + "saved step30 reward=0.5 kl=0.1 in 2s\n")

    run = open_run(path)

    assert (run.manifest.format, run.rows) == ("step-lines", 30)
    assert run.steps.tolist() == list(range(1, 31))
    assert len(logged_values(run, "reward_mean")) == len(logged_values(run, "entropy_mean")) == 30
    assert f"{logged_values(run, 'reward_mean')[30]:.4f}" in log.splitlines()[-1]
    assert run.reading.unreadable == run.reading.bad_values == 0


def test_what_stands_in_brackets_belongs_to_the_number_before_it(tmp_path: Path) -> None:
    run = open_run(_printed(tmp_path / "console", _LAYOUTS["brackets"]))

    spread = logged_values(run, "reward_std_group_mean") or logged_values(run, "reward_std_batch")
    reward = logged_values(run, "reward_mean")[1]
    assert spread[1] == pytest.approx((reward * (1 - reward)) ** 0.5, abs=1e-4)


def test_a_fraction_in_percent_and_a_seconds_suffix_are_read(tmp_path: Path) -> None:
    logger = open_run(_printed(tmp_path / "a", _LAYOUTS["logger"]))
    brackets = open_run(_printed(tmp_path / "b", _LAYOUTS["brackets"]))

    assert logged_values(logger, "accuracy_fraction")[1] == pytest.approx(0.453)
    assert brackets.column("t")[0] == 2.6


def test_steps_go_on_where_they_begin_again_with_the_next_epoch(tmp_path: Path) -> None:
    path = tmp_path / "console"
    path.write_text(
        "".join(f"Epoch {e}/2, Step {s}/3: reward={e}.{s}, kl=0.1\n" for e in (1, 2) for s in (1, 2, 3))
        + "Epoch 1/2, Step 1/3: reward=9.5, kl=0.1\n"
    )

    assert open_run(path, run=1).steps.tolist() == [1, 2, 3, 4, 5, 6]
    assert logged_values(open_run(path), "reward_mean") == {1: 9.5}


def test_a_number_that_is_none_is_kept_as_such(tmp_path: Path) -> None:
    path = tmp_path / "console"
    path.write_text("step 1: reward=0.5 loss=nan\nstep 2: reward=-inf loss=1e-3\n")

    run = open_run(path)

    assert np.isnan(run.column("loss")).tolist() == [True, False]
    assert run.logged("loss").tolist() == [True, True]
    assert run.column("reward_mean").tolist() == [0.5, -np.inf]


def test_a_log_that_grows_in_pieces_is_the_log_read_at_once(tmp_path: Path) -> None:
    data = _printed(tmp_path / "whole", _LAYOUTS["bars"]).read_bytes()
    path = tmp_path / "grown"
    path.write_bytes(data[: len(data) // 2])
    grown = open_run(path)
    for end in range(len(data) // 2, len(data) + 1, 97):
        path.write_bytes(data[:end])
        grown.refresh()
    path.write_bytes(data)
    grown.refresh()

    assert contents(grown) == contents(open_run(tmp_path / "whole"))


def test_rows_of_a_trainer_are_read_as_such_though_a_reward_function_prints_first(tmp_path: Path) -> None:
    path = tmp_path / "console"
    noise = "[Step 1] reward mean: 0.5, kl: 0.1\n" + "a completion\n" * 20_000
    path.write_text(noise + "".join(f"{{'loss': 0.1, 'reward': 0.{n}, 'epoch': 0.1}}\n" for n in range(1, 6)))

    run = open_run(path)

    assert (run.manifest.format, run.rows) == ("trl-console", 5)


@pytest.mark.parametrize(
    "text",
    [
        "Step 1/10: downloading took 3.2s at 40 MB\nStep 2/10: unpacking took 1.0s\n",
        "epoch 1 step 5 time=3s files=2\n",
        "reward = 3\nkl = 2\nno step is counted here\n",
    ],
)
def test_other_consoles_are_refused_in_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "console"
    path.write_text(text)

    with pytest.raises(UnreadableSource, match="expected a training log") as refusal:
        open_run(path)
    assert len(str(refusal.value).splitlines()) == 1


def test_a_named_key_makes_a_line_a_row(tmp_path: Path) -> None:
    path = tmp_path / "console"
    path.write_text("".join(f"step {n}: reward=0.{n} kl=0.1\nstep {n} quality: 0.{n}, extra: 1\n" for n in range(1, 5)))

    run = open_run(path, keys={"quality": "true_reward_mean"})

    assert logged_values(run, "true_reward_mean") == {n: n / 10 for n in range(1, 5)}


def test_hostile_lines_take_no_time(tmp_path: Path) -> None:
    path = tmp_path / "console"
    hostile = [
        "step 1 " + "a " * 8000,
        "step 1 reward" + " " * 8000 + "= 1",
        "step 1 " + "a=1 (" * 3000,
        "step(" * 3000,
    ]
    path.write_text("step 1: reward=0.5 kl=0.1\n" + "\n".join(hostile * 20) + "\nstep 2: reward=0.5 kl=0.1\n")

    assert open_run(path).rows == 2


def test_what_is_said_of_an_evaluation_is_none_of_training(tmp_path: Path) -> None:
    path = tmp_path / "console"
    path.write_text(
        "".join(f"Step {n}: reward=0.{n} kl=0.1\nStep {n} eval: reward=0.9, acc=0.8\n" for n in range(1, 5))
        + "Validation at step 5: accuracy: 0.7, eval_reward: 0.8\n"
    )

    run = open_run(path)

    assert logged_values(run, "reward_mean") == {n: n / 10 for n in range(1, 5)}
    assert logged_values(run, "evaluation_score/reward")[3] == 0.9
    assert logged_values(run, "evaluation_score/accuracy")[4] == 0.8
    assert "accuracy_fraction" not in run.metrics
