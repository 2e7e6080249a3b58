"""A folder in which the pages' commands find what they name: recordings, a log, code to verify."""

import json
import shutil
from pathlib import Path

import numpy as np

from rlprobe import Recorder
from tests.docs.blocks import ROOT

STEPS = range(180, 241)  # the pages look at steps 200 to 240 and at 212
GROUPS, SAMPLES = 4, 4


def folder(home: Path) -> Path:
    """Fill it."""
    record(home / "runs" / "my-run", seed=0)
    for name in ("old-run", "before", "after", "a1", "a2", "a3", "b1", "b2", "b3"):
        record(home / "runs" / name, seed=len(name) + ord(name[0]), steps=STEPS[:25])
    flat = {"reward": 0.5, "reward_std": 0.0, "kl": 0.0, "loss": 0.0, "my/reward": 0.4}
    rows = [{"step": step, **flat} for step in range(1, 41)]
    state = home / "outputs" / "checkpoint-500" / "trainer_state.json"
    state.parent.mkdir(parents=True)
    state.write_text(json.dumps({"global_step": 40, "log_history": rows}), encoding="utf-8")
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (home / "trainer_log.jsonl").write_text(lines, encoding="utf-8")
    (home / "examples").symlink_to(ROOT / "examples")
    shutil.copy(ROOT / "examples" / "verify_pipeline.py", home / "my_pipeline.py")
    (home / "doctor.toml").touch()
    package = home / "my_code"
    package.mkdir()
    (package / "__init__.py").touch()
    source = (ROOT / "examples" / "verify_pipeline.py").read_text(encoding="utf-8")
    (package / "losses.py").write_text(source.replace("def loss(", "def grpo_loss("), encoding="utf-8")
    return home


def record(run_dir: Path, *, seed: int, steps: range = STEPS) -> None:
    """A small run with rewards of a function `correct`, texts and groups."""
    rng = np.random.default_rng(seed)
    with Recorder(run_dir, algorithm="grpo", settings={"group_size": SAMPLES, "learning_rate": 1e-6}) as recorder:
        for step in steps:
            right = rng.random((GROUPS, SAMPLES)) < 0.5
            recorder.log_step(step, {"entropy_mean": 1.2 - 0.001 * step, "grad_norm": 0.5 + 0.1 * rng.random()})
            recorder.log_samples(
                step,
                [
                    {
                        "group": str(group),
                        "prompt": f"How many are {group} and {group}?",
                        "completion": f"as an AI I say {2 * group}" if right[group, sample] else "no idea " * 9,
                        "completion_tokens": 6 if right[group, sample] else 18,
                        "reward": float(right[group, sample]),
                        "reward/correct": float(right[group, sample]),
                    }
                    for group in range(GROUPS)
                    for sample in range(SAMPLES)
                ],
            )
