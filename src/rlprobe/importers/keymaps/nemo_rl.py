"""NeMo-RL: keys under `train/`, `validation/` and `timing/`; percents where other trainers log fractions."""

from rlprobe.importers.keymaps.key import Key, KeyMap, Measure

_INFINITE = "-1 stands for a step in which every ratio was infinite"

# fmt: off
MAP = KeyMap(
    framework="nemo-rl",
    marks=("token_mult_prob_error", "probs_ratio", "probs_ratio_clamped", "baseline_reward/", "gen_kl_error", "mean_gen_tokens_per_sample", "approx_entropy", "natural_termination_rate", "timing/train/total_step_time"),
    prefixes=("train/",),
    algorithms=(("critic_loss", "ppo"), ("train/critic_loss", "ppo"), ("", "grpo")),
    keys=(
        Key("reward", "reward_mean"),
        Key("baseline_reward/pct_0", "all_wrong_group_fraction", scale=0.01),
        Key("baseline_reward/pct_1", "all_right_group_fraction", scale=0.01),
        Key("advantages/mean", "advantage_mean"),
        Key("kl_penalty", "kl_mean", measure=Measure(estimator="k3", pair="policy/reference", per="token"), note="0 when the coefficient is 0"),
        Key("approx_entropy", "entropy_mean", measure=Measure(estimator="monte carlo"), note="weighted by the importance ratio"),
        Key("probs_ratio", "ratio_mean"),
        Key("probs_ratio_min", "ratio_min", note=_INFINITE),
        Key("probs_ratio_max", "ratio_max", note=_INFINITE),
        Key("gen_kl_error", "sampler_kl_mean", measure=Measure(pair="sampler/policy", per="token")),
        Key("token_mult_prob_error", "", note="mean of exp(|log-prob difference|), 1 when sampler and policy agree"),
        Key("sampling_importance_ratio", "sampler_ratio_mean", measure=Measure(pair="sampler/policy", per="token")),
        Key("loss", "loss"),
        Key("critic_loss", "value_loss"),
        Key("grad_norm", "grad_norm"),
        Key("lr", "learning_rate"),
        Key("mean_gen_tokens_per_sample", "completion_tokens_mean"),
        Key("max_gen_tokens_per_sample", "completion_tokens_max"),
        Key("mean_prompt_length", "prompt_tokens_mean"),
        Key("truncation_rate", "truncated_fraction"),
        Key("avg_turns_per_sample", "turns_mean"),
        Key("invalid_tool_call_rate", "tool_failure_fraction"),
        Key("avg_trajectory_age", "staleness_mean"),
        Key("timing/train/total_step_time", "step_seconds"),
        Key("timing/train/generation", "generation_seconds"),
        Key("validation/accuracy", "evaluation_score/accuracy"),
        Key("validation/{name}", "", note="an evaluation number that is no score"),
    ),
)
