"""A program that hands its numbers to four loggers, as users do; run under `rlprobe run`."""

import os
import sys
from pathlib import Path

home = Path(sys.argv[1])
os.environ |= {
    "WANDB_MODE": "offline",
    "WANDB_SILENT": "true",
    "WANDB_DIR": str(home),
    "WANDB_ERROR_REPORTING": "false",
}
os.environ |= {"TRACKIO_DIR": str(home / "trackio"), "MLFLOW_ALLOW_FILE_STORE": "true"}

import mlflow  # noqa: E402 - the variables are read on import
import tensorboardX  # noqa: E402
import trackio  # noqa: E402
import wandb  # noqa: E402

mlflow.set_tracking_uri(f"file://{home}/mlruns")
mlflow.set_experiment("tap")
mlflow.start_run()
mlflow.log_params({"gamma": 0.99})
trackio.init(project="tap", config={"temperature": 0.7}, embed=False)
run = wandb.init(project="tap", config={"beta": 0.1, "num_generations": 8, "api_key": "k-123456"})
writer = tensorboardX.SummaryWriter(str(home / "tensorboard"))

for step in range(5):
    wandb.log({"train/reward": step / 10, "train/kl": 0.5, "train/global_step": step * 10, "note": "text"})
    writer.add_scalar("train/reward", -1.0, step * 10)  # the same number, spelled alike: wandb's stays
    writer.add_scalar("val-core/math/acc", 0.25 * step, step * 10)
    trackio.log({"reward": -2.0, "entropy": 1.0 - step / 10}, step=step * 10)
    mlflow.log_metrics({"grad_norm": 0.5 + step, "reward": -3.0}, step=step * 10)
    mlflow.log_metric("loss", -0.1 * step, step=step * 10)
    wandb.log({"nested": {"seconds": 1.0 + step}, "logged_without_step": step})
table = wandb.Table(columns=["step", "prompt", "completion", "reward"], data=[[40, "2+2=", "4", 1.0]])
wandb.log({"completions": table, "train/global_step": 40})

writer.close()
trackio.finish()
mlflow.end_run()
run.finish()
