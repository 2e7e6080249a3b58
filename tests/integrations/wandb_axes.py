"""A program with its own axes in wandb: HOME PATTERN AXIS. Run under `rlprobe run`; wandb counts rows by itself."""

import os
import sys
from pathlib import Path

home, pattern, axis = sys.argv[1:]
os.environ |= {"WANDB_MODE": "offline", "WANDB_SILENT": "true", "WANDB_DIR": home, "WANDB_ERROR_REPORTING": "false"}

import wandb  # noqa: E402 - the variables are read on import

run = wandb.init(project="axes", dir=Path(home))
wandb.define_metric(axis)
wandb.define_metric(pattern, step_metric=axis)
wandb.define_metric("validation/*", step_metric="validation/count")
for turn in range(1, 5):
    wandb.log({"train/loss": 1.0 / turn, axis: turn * 50}, step=7 * turn)
    wandb.log({"validation/accuracy": turn / 4, "validation/count": turn}, step=7 * turn + 1)
table = wandb.Table(columns=["prompt", "completion", "reward"], data=[["2+2=", "4", 1.0]])
wandb.log({"completions": table}, step=30)
run.finish()
