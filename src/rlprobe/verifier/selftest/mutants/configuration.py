"""Settings that no training can work with. Risky ones are warnings and do not stand here."""

from rlprobe.verifier.selftest.mutant import Mutant


def _mutant(base: str, id: str, old: str, new: str, source: str = "") -> Mutant:
    return Mutant(id=id, base=base, old=old, new=new, stage="configuration", category="configuration", source=source)


# fmt: off
MUTANTS = (
    _mutant("config_trl", "rate-zero", '"learning_rate": 1e-6', '"learning_rate": 0.0'),
    _mutant("config_trl", "rate-negative", '"learning_rate": 1e-6', '"learning_rate": -1e-6'),
    _mutant("config_trl", "rate-exponent-sign", '"learning_rate": 1e-6', '"learning_rate": 1e6'),
    _mutant("config_trl", "rate-is-text", '"learning_rate": 1e-6', '"learning_rate": "1e-6"'),
    _mutant("config_trl", "beta-negative", '"beta": 0.04', '"beta": -0.04'),
    _mutant("config_trl", "epsilon-zero", '"epsilon": 0.2', '"epsilon": 0.0'),
    _mutant("config_trl", "epsilon-as-ratio", '"epsilon": 0.2', '"epsilon": 1.2'),
    _mutant("config_trl", "epsilon-in-percent", '"epsilon": 0.2', '"epsilon": 20'),
    _mutant("config_trl", "upper-edge-negative", '"epsilon_high": 0.28', '"epsilon_high": -0.28'),
    _mutant("config_trl", "delta-inside-the-range", '"delta": None', '"delta": 1.2'),
    _mutant("config_trl", "group-of-one", '"num_generations": 8', '"num_generations": 1'),
    _mutant("config_trl", "group-does-not-divide", '"num_generations": 8', '"num_generations": 12'),
    _mutant("config_trl", "temperature-zero", '"temperature": 1.0', '"temperature": 0.0'),
    _mutant("config_trl", "temperature-negative", '"temperature": 1.0', '"temperature": -1.0'),
    _mutant("config_trl", "top-p-zero", '"top_p": 1.0', '"top_p": 0.0'),
    _mutant("config_trl", "top-p-in-percent", '"top_p": 1.0', '"top_p": 95'),
    _mutant("config_trl", "penalty-zero", '"repetition_penalty": 1.0', '"repetition_penalty": 0.0'),
    _mutant("config_trl", "length-zero", '"max_completion_length": 512', '"max_completion_length": 0'),
    _mutant("config_trl", "no-iterations", '"num_iterations": 1', '"num_iterations": 0'),
    _mutant("config_trl", "warm-up-longer-than-run", '"warmup_steps": 20', '"warmup_steps": 2000'),
    _mutant("config_trl", "norm-negative", '"max_grad_norm": 1.0', '"max_grad_norm": -1.0'),
    _mutant("config_trl", "both-formats", '"fp16": False', '"fp16": True'),
    _mutant("config_trl", "switch-is-text", '"mask_truncated_completions": False', '"mask_truncated_completions": "False"', "adv-scale-truthy-axolotl"),
    _mutant("config_trl", "scaling-is-text", '"scale_rewards": "group"', '"scale_rewards": "false"', "adv-scale-truthy-axolotl"),
    _mutant("config_trl", "reference-copied-every-step", '"ref_model_mixup_alpha": 0.6,\n    "ref_model_sync_steps": 512', '"ref_model_mixup_alpha": 1.0,\n    "ref_model_sync_steps": 1'),
    _mutant("config_trl", "reference-mixed-twice-over", '"ref_model_mixup_alpha": 0.6', '"ref_model_mixup_alpha": 1.6'),
    _mutant("config_trl", "no-reward-counts", '"reward_weights": [1.0, 0.5]', '"reward_weights": [0.0, 0.0]'),
    _mutant("config_verl", "verl-mini-batch-too-large", '"ppo_mini_batch_size": 256', '"ppo_mini_batch_size": 2048'),
    _mutant("config_verl", "verl-group-of-one", '"n": 5', '"n": 1'),
    _mutant("config_verl", "verl-dual-clip-inside", '"clip_ratio_c": 3.0', '"clip_ratio_c": 1.0'),
    _mutant("config_verl", "verl-edge-zero", '"clip_ratio_low": 0.2', '"clip_ratio_low": 0.0'),
    _mutant("config_verl", "verl-rate-text", '"optim": {"lr": 1e-6', '"optim": {"lr": "1e-6"'),
    _mutant("config_verl", "verl-temperature-zero", '"temperature": 1.0', '"temperature": 0'),
    _mutant("config_verl", "verl-warm-up-percent", '"lr_warmup_steps_ratio": 0.0', '"lr_warmup_steps_ratio": 3'),
    _mutant("config_verl", "verl-normalisation-text", '"norm_adv_by_std_in_grpo": True', '"norm_adv_by_std_in_grpo": "no"', "adv-flag-verl"),
    _mutant("config_verl", "verl-discount-above-one", '"gamma": 1.0', '"gamma": 1.01'),
    _mutant("config_openrlhf", "openrlhf-lambda-percent", "lambd=0.95", "lambd=95"),
    _mutant("config_openrlhf", "openrlhf-edges-swapped-sign", "eps_clip_low_high=[0.2, 0.27]", "eps_clip_low_high=[-0.2, 0.27]"),
    _mutant("config_openrlhf", "openrlhf-kl-negative", "init_kl_coef=0.01", "init_kl_coef=-0.01"),
    _mutant("config_openrlhf", "openrlhf-length-negative", "generate_max_len=1024", "generate_max_len=-1"),
    _mutant("config_dpo", "dpo-beta-zero", "beta: float = 0.1", "beta: float = 0.0"),
    _mutant("config_dpo", "dpo-smoothing-of-one", "label_smoothing: float = 0.1", "label_smoothing: float = 1.0"),
    _mutant("config_gspo", "gspo-epsilon-one", "adv_eps=1e-4", "adv_eps=1.0"),
    _mutant("config_gspo", "gspo-dropout-of-one", "lora_dropout=0.0", "lora_dropout=1.0"),
    _mutant("config_gspo", "gspo-fractional-group", "num_generations=16", "num_generations=0.5"),
    _mutant("config_optimizer", "rate-not-handed-on", 'build_optimizer(model, learning_rate=CONFIG["learning_rate"])', "build_optimizer(model)", "lr-helloagents"),
    _mutant("config_optimizer", "rate-squared", "lr=learning_rate", "lr=learning_rate**2"),
    _mutant("config_optimizer", "padding-id-negative", '"pad_token_id": 0', '"pad_token_id": -5'),
)
# fmt: on
