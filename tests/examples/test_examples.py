"""Every example runs, few steps of it: the doctor names the fault with the switch on and is silent without it."""

import json
import os
import runpy
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from bench.frameworks.verl_script import words_of

from rlprobe import diagnose, open_run

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
NAMES = EXAMPLES.parent / "tests" / "docs" / "settings" / "verl-0.9.0.txt"  # keys of verl's own configuration
VERL = Path(os.environ.get("RLPROBE_FRAMEWORKS", Path(sys.prefix) / "frameworks")) / "verl"
needs_torch = [pytest.mark.slow, pytest.mark.trl, pytest.mark.skipif(find_spec("torch") is None, reason="needs torch")]


def alarming(run: Path) -> set[str]:
    """The ids of critical findings and warnings."""
    return {one.id for one in diagnose(open_run(run)).findings if one.severity != "info"}


@pytest.mark.parametrize(
    ("name", "steps", "named"),
    [
        pytest.param("numpy_loop", 30, "REWARD_CONSTANT"),
        pytest.param("torch_grpo", 20, "ADVANTAGE_INVALID", marks=needs_torch),
        pytest.param("torch_ppo", 55, "VALUE_DIVERGENCE", marks=needs_torch),
    ],
)
def test_a_loop_of_ones_own_is_silent_until_its_fault_is_on(name: str, steps: int, named: str, tmp_path: Path) -> None:
    train = runpy.run_path(str(EXAMPLES / f"{name}.py"))["train"]
    train(tmp_path / "healthy", steps=steps)
    train(tmp_path / "faulty", steps=steps, fault=True)

    assert alarming(tmp_path / "healthy") == set()
    assert named in alarming(tmp_path / "faulty")


def test_verls_reward_pays_the_right_number_and_with_the_fault_nothing() -> None:
    program = runpy.run_path(str(EXAMPLES / "verl_grpo.py"))
    row = program["rows"](1, 0)[0]
    answer = row["reward_model"]["ground_truth"]
    text = f"It is <answer>{answer}</answer>."

    assert program["compute_score"]("sums", text, answer) == {"score": 1.0, "tagged": 1.0}
    assert program["compute_score"]("sums", "<answer>0</answer>", answer) == {"score": 0.0, "tagged": 1.0}
    assert program["compute_wrong_score"]("sums", text, answer) == {"score": 0.0, "tagged": 0.0}


@pytest.mark.parametrize(("words", "score"), [((), "compute_score"), (("--fault",), "compute_wrong_score")])
def test_verls_script_hands_over_settings_that_verl_has(words: tuple[str, ...], score: str) -> None:
    module, program, *overrides = words_of("data", *words)
    chosen = dict(each.split("=", 1) for each in overrides)

    assert (module, program) == ("-m", "verl.trainer.main_ppo")
    assert chosen.keys() <= set(NAMES.read_text(encoding="utf-8").split())
    assert chosen["reward.custom_reward_function.name"] == score
    assert score in runpy.run_path(chosen["reward.custom_reward_function.path"])
    assert json.loads(chosen["trainer.logger"]) == ["console", "rlprobe"]


def test_verls_script_says_what_it_cannot_take() -> None:
    with pytest.raises(subprocess.CalledProcessError) as failed:
        words_of("--flaut")

    assert failed.value.returncode == 2
    assert failed.value.stderr == "verl_grpo.sh: expected a folder or --fault, got --flaut. Leave it out.\n"


@pytest.mark.slow
@pytest.mark.trl
@pytest.mark.parametrize("words", [(), ("--fault",)])
def test_verl_itself_composes_the_scripts_configuration(words: tuple[str, ...]) -> None:
    if not VERL.is_dir():
        pytest.skip("verl is not installed; `python -m bench.frameworks` does it")
    command = [sys.executable, *words_of("data", *words), "--cfg", "job", "--resolve"]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(VERL)}, capture_output=True, text=True)

    assert done.returncode == 0, done.stderr[-2000:]
    assert "  - rlprobe" in done.stdout.splitlines()
