"""verl's logger: the module's own rules here, and verl's real Tracking where verl is.

`python -m bench.frameworks` installs it into .venv/frameworks/verl and runs its training loop.
"""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from rlprobe import open_run
from rlprobe.integrations.verl_rollouts import components_of
from rlprobe.integrations.verl_tracking import RUN, run_dir_of, settings_of

PROGRAM = Path(__file__).with_name("verl_tracking_program.py")
FRAMEWORKS = Path(os.environ.get("RLPROBE_FRAMEWORKS", Path(sys.prefix) / "frameworks"))
TARGET = FRAMEWORKS / "verl"
needs_verl = pytest.mark.skipif(
    find_spec("verl") is None and not TARGET.is_dir(), reason="verl is not installed; `python -m bench.frameworks` does"
)


@pytest.mark.parametrize(
    ("project", "experiment", "expected"),
    [
        ("math", "qwen-7b", "runs/math/qwen-7b"),
        ("math", "../../escape", "runs/math/escape"),
        ("..", None, "runs/verl/verl"),
        ("a b/c", "x\ny", "runs/a-b-c/x-y"),
    ],
)
def test_a_run_lies_under_its_project_and_never_elsewhere(
    project: object, experiment: object, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(RUN, raising=False)

    assert run_dir_of(project, experiment) == Path(expected)


@pytest.mark.parametrize(
    ("in_reward", "in_loss", "coefficient"), [(False, False, 0.0), (False, True, 0.001), (True, False, 0.02)]
)
def test_a_kl_term_that_is_off_has_no_coefficient(in_reward: bool, in_loss: bool, coefficient: float) -> None:
    configuration = {
        "algorithm": {"use_kl_in_reward": in_reward, "kl_ctrl": {"kl_coef": 0.02}},
        "actor_rollout_ref": {"actor": {"use_kl_loss": in_loss, "kl_loss_coef": 0.001}},
    }

    assert settings_of(configuration)["kl_coefficient"] == coefficient


def test_parts_of_a_reward_are_numbers_and_a_sample_may_lack_one() -> None:
    given = {"acc": [True, False], "score": [np.float32(0.5), None], "why": ["short", 1.0], "gone": [None, None]}

    assert components_of(given, 2) == {"reward/acc": [1.0, 0.0], "reward/score": [0.5, None]}
    assert components_of({"acc": [1.0]}, 2) == {}


@needs_verl
@pytest.mark.slow
@pytest.mark.trl
@pytest.mark.parametrize("way", ["entry point", "environment variable"])
def test_verls_own_tracking_records(way: str, tmp_path: Path) -> None:
    external = {"VERL_USE_EXTERNAL_PLUGINS": "none", "VERL_USE_EXTERNAL_MODULES": "rlprobe.integrations.verl"}
    variables = {**os.environ, "PYTHONPATH": str(TARGET)} | (external if way == "environment variable" else {})
    words = [sys.executable, str(PROGRAM)]
    done = subprocess.run(words, cwd=tmp_path, env=variables, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr[-2000:]
    run = open_run(tmp_path / "runs" / "math" / "first-try")
    assert (run.manifest.framework, run.manifest.algorithm, run.manifest.state) == ("verl", "grpo", "closed")
    assert run.manifest.settings["group_size"] == 8
    assert run.steps.tolist() == [1, 2, 3]
    assert run.column("entropy_mean").tolist() == [1.0, 0.5, pytest.approx(1 / 3)]
    assert [value == value for value in run.column("policy_loss")] == [True, False, True]
    assert run.column("evaluation_score/math/acc/mean@4").tolist() == [0.5] * 3
    samples = run.samples().columns
    assert (list(samples["split"]), list(samples["completion"])) == (["evaluation"] * 2, ["4", "7"])
