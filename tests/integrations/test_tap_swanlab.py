"""The tap on the real SwanLab, where it is installed: its protobuf is older than that of the other loggers."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from rlprobe import open_run

pytestmark = [pytest.mark.slow, pytest.mark.skipif(find_spec("swanlab") is None, reason="needs swanlab")]


@pytest.mark.parametrize("mode", ["disabled", "offline"])
def test_rows_have_the_steps_that_swanlab_gives_them(tmp_path: Path, mode: str) -> None:
    command = [sys.executable, "-m", "rlprobe", "run", "--run", str(tmp_path / "run"), "--"]
    command += [sys.executable, "-c", PROGRAM, str(tmp_path / "log"), mode]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    run = open_run(tmp_path / "run")
    assert run.steps.tolist() == [0, 1, 10, 11]
    for metric, values in EXPECTED.items():
        np.testing.assert_allclose(run.column(metric), values)
    assert set(run.metrics) == {*EXPECTED, "wall_time"}
    assert run.manifest.configuration == {"temperature": 0.7, "nested": {"seed": 7}, "api_key": "[redacted]"}
    assert [event.kind for event in run.events if event.kind == "bad_hook"] == []


PROGRAM = """
import sys, swanlab
config = {"temperature": 0.7, "nested": {"seed": 7}, "api_key": "k-123456"}
run = swanlab.init(project="tap", logdir=sys.argv[1], mode=sys.argv[2], config=config)
swanlab.log({"reward": 0.1, "deep": {"a": {"seconds": 1.5}}, "sample": swanlab.Text("text")})
swanlab.log({"reward": 0.2, "chart": swanlab.echarts.Bar()})
swanlab.log({"reward": 0.3}, step=10)
swanlab.log({"reward": 0.4})
run.log_scalar(key="grad_norm", value=2.0, step=10)
run.async_log(lambda: {"kl": 0.5}, step=10).result()
swanlab.log({"refused": 1.0}, step=-3)
swanlab.log({"refused": 1.0}, step="x")
swanlab.finish()
"""
NAN = np.nan
EXPECTED = {
    "reward_mean": [0.1, 0.2, 0.3, 0.4],
    "deep/a/seconds": [1.5, NAN, NAN, NAN],
    "grad_norm": [NAN, NAN, 2.0, NAN],
    "kl_mean": [NAN, NAN, 0.5, NAN],
}
