"""The tap on the real loggers: one program hands its numbers to four of them."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from rlprobe import open_run
from rlprobe.recording.run import Run

PROGRAM = Path(__file__).with_name("many_loggers.py")
MISSING = [name for name in ("wandb", "tensorboardX", "trackio", "mlflow") if find_spec(name) is None]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(MISSING), reason=f"needs {MISSING}"),
    pytest.mark.xdist_group("tap-loggers"),
]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The recording of the program."""
    home = tmp_path_factory.mktemp("tap")
    words = [sys.executable, "-m", "rlprobe", "run", "--run", str(home / "run"), "--", sys.executable, str(PROGRAM)]
    done = subprocess.run([*words, str(home)], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert done.stderr.endswith(f"rlprobe: recorded in {home / 'run'}. `rlprobe doctor {home / 'run'}` diagnoses it.\n")
    return open_run(home / "run")


def test_several_loggers_of_one_run_make_one_row_a_step(run: Run) -> None:
    assert run.steps.tolist() == [0, 10, 20, 30, 40]


@pytest.mark.parametrize(
    ("metric", "values"),
    [
        ("reward_mean", [0.0, 0.1, 0.2, 0.3, 0.4]),  # wandb's; of three others the first word is taken
        ("kl_mean", [0.5] * 5),
        ("evaluation_score/math/acc", [0.0, 0.25, 0.5, 0.75, 1.0]),  # TensorBoard's alone
        ("entropy_mean", [1.0, 0.9, 0.8, 0.7, 0.6]),  # Trackio's alone
        ("grad_norm", [0.5, 1.5, 2.5, 3.5, 4.5]),  # MLflow's alone, several at once
        ("loss", [0.0, -0.1, -0.2, -0.3, -0.4]),  # MLflow's alone, one by one
        ("nested/seconds", [1.0, 2.0, 3.0, 4.0, 5.0]),
        ("logged_without_step", [0.0, 1.0, 2.0, 3.0, 4.0]),  # joins the step before it
    ],
)
def test_each_logger_gives_what_it_alone_was_handed(run: Run, metric: str, values: list[float]) -> None:
    np.testing.assert_allclose(run.column(metric), values)


def test_the_configurations_of_all_loggers_are_one_without_secrets(run: Run) -> None:
    expected = {"beta": 0.1, "num_generations": 8, "api_key": "[redacted]", "gamma": "0.99", "temperature": 0.7}

    assert run.manifest.configuration == expected
    assert run.manifest.settings == {"kl_coefficient": 0.1, "group_size": 8, "temperature": 0.7}


def test_a_table_of_completions_gives_samples(run: Run) -> None:
    columns = run.samples().columns

    kept = {name: list(columns[name]) for name in ("step", "prompt", "completion", "reward")}
    assert kept == {"step": [40], "prompt": ["2+2="], "completion": ["4"], "reward": [1.0]}


def test_no_hook_failed(run: Run) -> None:
    assert [event for event in run.events if event.kind == "bad_hook"] == []


@pytest.mark.parametrize(
    ("pattern", "axis", "steps"),
    [
        ("*", "learner/turn", [50, 100, 150, 200]),
        ("train/*", "train/optimizer_step", [50, 100, 150, 200]),
        ("*", "tokens_seen", [7, 8, 14, 15, 21, 22, 28, 29, 30]),  # counts no steps: wandb's own are taken
    ],
)
def test_the_axis_of_training_in_wandb_is_the_step(tmp_path: Path, pattern: str, axis: str, steps: list[int]) -> None:
    words = [sys.executable, "-m", "rlprobe", "run", "--run", str(tmp_path / "run"), "--", sys.executable]
    words += [str(PROGRAM.with_name("wandb_axes.py")), str(tmp_path), pattern, axis]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr

    axes = open_run(tmp_path / "run")
    assert axes.steps.tolist() == steps
    losses = axes.column("loss")
    np.testing.assert_allclose(losses[np.isfinite(losses)], [1, 1 / 2, 1 / 3, 1 / 4])
    assert axes.samples().columns["step"].tolist() == [200 if len(steps) == 4 else 30]
    assert [event for event in axes.events if event.kind == "bad_hook"] == []
