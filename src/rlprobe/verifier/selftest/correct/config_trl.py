"""TRL's own defaults of GRPOConfig 1.16, flat, with a warm-up and a KL term as people add them; two weighted rewards."""

from rlprobe.verifier.pipeline import Pipeline

CONFIG = {
    "learning_rate": 1e-6,
    "beta": 0.04,
    "epsilon": 0.2,
    "epsilon_high": 0.28,
    "delta": None,
    "num_generations": 8,
    "temperature": 1.0,
    "top_p": 1.0,
    "top_k": 0,
    "min_p": None,
    "repetition_penalty": 1.0,
    "max_completion_length": 512,
    "num_iterations": 1,
    "steps_per_generation": 4,
    "gradient_accumulation_steps": 8,
    "per_device_train_batch_size": 8,
    "generation_batch_size": 32,
    "loss_type": "dapo",
    "scale_rewards": "group",
    "importance_sampling_level": "token",
    "mask_truncated_completions": False,
    "max_grad_norm": 1.0,
    "warmup_steps": 20,
    "max_steps": 500,
    "bf16": True,
    "fp16": False,
    "disable_dropout": False,
    "sync_ref_model": True,
    "ref_model_mixup_alpha": 0.6,
    "ref_model_sync_steps": 512,
    "weight_decay": 0.0,
    "reward_weights": [1.0, 0.5],
    "top_entropy_quantile": 1.0,
}


def exact(completions, **kwargs):
    return [float("<answer>" in text and "</answer>" in text) for text in completions]


def short(completions, **kwargs):
    return [-min(len(text), 400) / 400 for text in completions]


def make():
    return Pipeline(reward=[exact, short], config=CONFIG, declare={"algorithm": "grpo"})
