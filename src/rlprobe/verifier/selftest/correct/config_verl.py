"""verl's defaults, nested as its YAML is, with GRPO in place of PPO."""

from rlprobe.verifier.pipeline import Pipeline

CONFIG = {
    "data": {"train_batch_size": 1024, "max_prompt_length": 512, "max_response_length": 512},
    "actor_rollout_ref": {
        "actor": {
            "optim": {"lr": 1e-6, "lr_warmup_steps": -1, "lr_warmup_steps_ratio": 0.0, "weight_decay": 0.01},
            "ppo_mini_batch_size": 256,
            "clip_ratio": 0.2,
            "clip_ratio_low": 0.2,
            "clip_ratio_high": 0.2,
            "clip_ratio_c": 3.0,
            "loss_agg_mode": "token-mean",
            "entropy_coeff": 0.001,
            "use_kl_loss": True,
            "kl_loss_coef": 0.001,
            "kl_loss_type": "low_var_kl",
            "ppo_epochs": 1,
            "grad_clip": 1.0,
        },
        "rollout": {
            "n": 5,
            "temperature": 1.0,
            "top_p": 1,
            "top_k": -1,
            "val_kwargs": {"temperature": 0, "top_p": 1.0, "n": 1},
        },
    },
    "critic": {"optim": {"lr": 1e-5}, "cliprange_value": 0.5},
    "algorithm": {"adv_estimator": "grpo", "gamma": 1.0, "lam": 1.0, "norm_adv_by_std_in_grpo": True},
    "trainer": {"total_training_steps": None, "n_gpus_per_node": 8},
}


def make():
    return Pipeline(config=CONFIG)
