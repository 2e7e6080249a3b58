"""verl's own Tracking, driven as its trainers drive it: rows, validation generations, an end. Words: its loggers."""

import sys

import numpy as np
from verl.utils.tracking import Tracking, ValidationGenerationsLogger

config = {
    "trainer": {"project_name": "math", "experiment_name": "first/try"},
    "algorithm": {"adv_estimator": "grpo", "use_kl_in_reward": False},
    "actor_rollout_ref": {
        "model": {"path": "tiny"},
        "actor": {"use_kl_loss": False, "kl_loss_coef": 0.001, "optim": {"lr": 1e-6}},
        "rollout": {"n": 8, "val_kwargs": {"n": 1}},
    },
    "reward": {"reward_model": {"rollout": {"n": 1}}},
}
loggers = sys.argv[1:] or ["console", "rlprobe"]
tracking = Tracking("math", "first/try", loggers, config)
for step in range(1, 4):
    row = {"actor/entropy": np.float64(1.0 / step), "critic/score/mean": np.float32(0.25), "num_turns/min": np.int64(2)}
    row |= {"actor/pg_loss": float("nan") if step == 2 else 0.1, "val-core/math/acc/mean@4": 0.5}
    tracking.log(data=row, step=step)
ValidationGenerationsLogger().log(loggers, [("2+2=", "4", 1.0), ("3+3=", "7", 0.0)], 3)
if hasattr(tracking, "finish"):  # verl 0.8 and older have none: the trainer's last use of it ends it
    tracking.finish()
del tracking
