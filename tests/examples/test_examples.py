"""Every example runs, few steps of it: the doctor names the fault with the switch on and is silent without it."""

import os
import re
import runpy
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from rlprobe import diagnose, open_run

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
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


def test_verls_reward_pays_the_right_number_and_with_the_fault_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    program = runpy.run_path(str(EXAMPLES / "verl_grpo.py"))
    row = program["rows"](1, 0)[0]
    answer = row["reward_model"]["ground_truth"]
    text = f"It is <answer>{answer}</answer>."

    assert program["compute_score"]("sums", text, answer) == 1.0
    assert program["compute_score"]("sums", "<answer>0</answer>", answer) == 0.0
    monkeypatch.setenv("RLPROBE_FAULT", "1")
    assert program["compute_score"]("sums", text, answer) == 0.0


def test_verls_settings_are_settings_of_verl() -> None:
    configuration = VERL / "verl" / "trainer" / "config" / "_generated_ppo_trainer.yaml"
    if not configuration.is_file():
        pytest.skip("verl is not installed; `python -m bench.frameworks` does it")
    yaml = pytest.importorskip("yaml")
    known = yaml.safe_load(configuration.read_text())

    for key in re.findall(r"^    ([a-z_0-9.]+)=", (EXAMPLES / "verl_grpo.sh").read_text(), re.MULTILINE):
        place = known
        for part in key.split("."):
            assert part in place, key
            place = place[part]
