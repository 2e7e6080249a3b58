"""OpenRLHF (read from 0.11): wandb and TensorBoard file its keys under `train/`."""

from rlprobe.importers.keymaps.key import Key, KeyMap, Measure

_REFERENCE = Measure(pair="policy/reference", per="token")

# fmt: off
MAP = KeyMap(
    framework="openrlhf",
    marks=("actor_lr", "critic_lr", "actor_grad_norm", "ppo_clip_ratio", "logprobs_diff", "vllm_kl", "rollout/reward_mean", "dynamic_filtering_pass_rate", "total_length"),
    prefixes=("train/",),
    algorithms=(("critic_loss", "ppo"), ("train/critic_loss", "ppo"), ("critic_lr", "ppo"), ("train/critic_lr", "ppo"), ("", "grpo")),
    keys=(
        Key("rollout/reward_mean", "reward_mean"),
        Key("reward", "reward_mean"),
        Key("rollout/reward_std", "reward_std_batch"),
        Key("group_reward_std", "reward_std_group_mean"),
        Key("dynamic_filtering_pass_rate", "zero_variance_group_fraction", scale=-1.0, offset=1.0, note="groups that dynamic filtering rejected"),
        Key("return", "return_mean"),
        Key("kl", "kl_mean", measure=_REFERENCE, note="0 without a reference; the estimator is --kl_estimator"),
        Key("logprobs_diff", "", note="mean log-prob difference to the reference (k1)"),
        Key("ppo_kl", "kl_old_mean", measure=Measure(estimator="k1", pair="policy/old", per="token")),
        Key("vllm_kl", "sampler_kl_mean", measure=Measure(estimator="k1", pair="sampler/policy", per="token")),
        Key("entropy_loss", "entropy_mean", note="positive in spite of its name; logged only with an entropy coefficient"),
        Key("ppo_clip_ratio", "clip_fraction"),
        Key("policy_loss", "policy_loss"),
        Key("critic_loss", "value_loss"),
        Key("values", "value_mean"),
        Key("actor_grad_norm", "grad_norm"),
        Key("critic_grad_norm", "value_grad_norm"),
        Key("actor_lr", "learning_rate"),
        Key("critic_lr", "value_learning_rate"),
        Key("rollout/response_length_mean", "completion_tokens_mean"),
        Key("response_length", "completion_tokens_mean"),
        Key("rollout/truncated_rate", "truncated_fraction"),
        Key("truncated", "truncated_fraction"),
        Key("timing/step_total", "step_seconds"),
        Key("timing/generation", "generation_seconds"),
        Key("eval/{name}", "evaluation_score/{name}"),
    ),
)
