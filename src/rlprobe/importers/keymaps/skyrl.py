"""SkyRL's own tracker (runs through its tinker interface log tinker's keys)."""

from rlprobe.importers.keymaps.key import Key, KeyMap, Measure

_SAMPLER = Measure(pair="sampler/policy", per="token")

# fmt: off
MAP = KeyMap(
    framework="skyrl",
    marks=("reward/avg_raw_reward", "policy/policy_loss", "policy/final_loss", "policy/policy_lr", "policy/policy_entropy", "policy/policy_kl", "loss/avg_raw_advantages", "generate/", "trainer/epoch"),
    algorithms=(("critic/critic_loss", "ppo"), ("", "grpo")),
    keys=(
        Key("reward/avg_raw_reward", "reward_mean"),
        Key("policy/policy_kl", "kl_mean", measure=Measure(pair="policy/reference", per="token"), note="k3 saturates at 10"),
        Key("loss/avg_kl", "kl_mean", measure=Measure(pair="policy/reference", per="token")),
        Key("policy/policy_entropy", "entropy_mean"),
        Key("policy/clip_ratio", "clip_fraction"),
        Key("policy/ppo_clip_ratio", "clip_fraction"),
        Key("loss/avg_raw_advantages", "advantage_mean"),
        Key("loss/avg_raw_advantages_abs", "advantage_abs_mean"),
        Key("policy/final_loss", "loss"),
        Key("policy/policy_loss", "policy_loss"),
        Key("policy/grad_norm", "grad_norm", note="of a summed loss thousands are normal"),
        Key("policy/raw_grad_norm", "grad_norm"),
        Key("policy/policy_lr", "learning_rate"),
        Key("critic/critic_loss", "value_loss"),
        Key("critic/values_mean", "value_mean"),
        Key("critic/raw_grad_norm", "value_grad_norm"),
        Key("policy/rollout_train_logprobs_abs_diff_mean", "sampler_logprob_difference_mean", measure=_SAMPLER),
        Key("policy/rollout_train_logprobs_abs_diff_max", "sampler_logprob_difference_max", measure=_SAMPLER),
        Key("policy/is_ratio_mean", "sampler_ratio_mean", measure=_SAMPLER),
        Key("policy/is_ratio_max", "sampler_ratio_max", measure=_SAMPLER),
        Key("policy/is_ratio_min", "sampler_ratio_min", measure=_SAMPLER),
        Key("generate/avg_num_tokens", "completion_tokens_mean"),
        Key("generate/max_num_tokens", "completion_tokens_max"),
        Key("generate/min_num_tokens", "completion_tokens_min"),
        Key("generate/std_num_tokens", "completion_tokens_std"),
        Key("generate/avg_num_turns", "turns_mean"),
        Key("async/staleness_mean", "staleness_mean"),
        Key("async/staleness_max", "staleness_max"),
        Key("timing/step", "step_seconds"),
        Key("timing/generate", "generation_seconds"),
        Key("trainer/tokens_per_second", "tokens_per_second", note="of the whole job"),
        Key("trainer/epoch", "epoch"),
        Key("eval/{name}/avg_score", "evaluation_score/{name}"),
    ),
)
