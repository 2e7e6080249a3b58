"""slime (Megatron and SGLang): `rollout/`, `train/` and `eval/` keys, each with a step axis of its own."""

from rlprobe.importers.keymaps.key import Key, KeyMap, Measure

_SAMPLER = Measure(pair="sampler/policy", per="token")

# fmt: off
MAP = KeyMap(
    framework="slime",
    marks=("rollout/raw_reward", "rollout/response_len/", "rollout/truncated_ratio", "rollout/repetition_frac", "train/lr-pg_0", "train/pg_clipfrac", "train/train_rollout_logprob_abs_diff", "rollout/zero_std/", "perf/tokens_per_gpu_per_sec"),
    algorithms=(("train/critic-value_loss", "ppo"), ("", "grpo")),
    keys=(
        Key("rollout/raw_reward", "reward_mean"),
        Key("rollout/rewards", "reward_mean", unless=("rollout/raw_reward",), note="after group normalisation"),
        Key("rollout/advantages", "advantage_mean"),
        Key("rollout/returns", "return_mean"),
        Key("rollout/response_len/mean", "completion_tokens_mean"),
        Key("rollout/response_len/max", "completion_tokens_max"),
        Key("rollout/response_len/min", "completion_tokens_min"),
        Key("rollout/truncated_ratio", "truncated_fraction"),
        Key("rollout/repetition_frac", "", note="fraction of samples whose tail compresses more than tenfold, not of repeated 4-grams"),
        Key("train/kl_loss", "kl_mean", measure=Measure(pair="policy/reference", per="token"), note="the estimator is --kl-loss-type"),
        Key("train/ppo_kl", "kl_old_mean", measure=Measure(estimator="k1", pair="policy/old", per="token")),
        Key("train/entropy_loss", "entropy_mean", note="positive in spite of its name"),
        Key("train/pg_clipfrac", "clip_fraction"),
        Key("train/loss", "loss"),
        Key("train/pg_loss", "policy_loss"),
        Key("train/critic-value_loss", "value_loss"),
        Key("train/grad_norm", "grad_norm"),
        Key("train/lr-pg_0", "learning_rate"),
        Key("train/train_rollout_logprob_abs_diff", "sampler_logprob_difference_mean", measure=_SAMPLER),
        Key("train/ois", "sampler_ratio_mean", measure=_SAMPLER),
        Key("perf/step_time", "step_seconds"),
        Key("perf/rollout_time", "rollout_seconds"),
        Key("perf/tokens_per_gpu_per_sec", "tokens_per_second", note="per accelerator"),
        Key("eval/{name}", "evaluation_score/{name}"),
    ),
)
