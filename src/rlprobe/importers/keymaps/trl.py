"""TRL (GRPO, RLOO, DPO family, PPO until 1.12) with its kin that log the same keys: unsloth, open-r1, ms-swift.

Read from trl 0.14 to 1.16. Notebook tables spell `completions / mean_length` and `Training Loss`.
"""

from dataclasses import replace

from rlprobe.importers.keymaps.key import Key, KeyMap, Measure

_REFERENCE = Measure(estimator="k3", pair="policy/reference", per="token")
_OLD = Measure(pair="policy/old", per="token")
_SEQUENCE = Measure(estimator="k1", pair="policy/reference", per="sequence", unit="nats/sequence")
_STD_GROUP = "before trl 0.29: mean over groups of the standard deviation within the group"
_STD_BATCH = "since trl 0.29 the standard deviation over the batch (0.26 to 0.28: mean over groups)"
_MEAN_OF = "with logging_steps above 1 this is a mean over steps of the step's extreme"
_ZERO = "0 whenever a rollout serves one update (the ratio is 1 by construction)"
_ROUNDED = "notebook tables round the loss to 6 decimals"

# fmt: off
MAP = KeyMap(
    framework="trl",
    marks=(
        "completions/",
        "reward_std",
        "Training Loss",
        "completion_length",
        "frac_reward_zero_std",
        "clip_ratio/",
        "rewards/",
        "objective/scores",
        "objective/rlhf_reward",
        "logps/",
        "num_tokens",
        "train_runtime",
        "sampling/",
        "eval_reward",
    ),
    prefixes=("train/",),
    algorithms=(
        ("rewards/chosen", "dpo"),
        ("rewards/margins", "dpo"),
        ("logps/chosen", "dpo"),
        ("loss/value_avg", "ppo"),
        ("objective/rlhf_reward", "rloo"),
        ("reward", "grpo"),
    ),
    keys=(
        Key("reward", "reward_mean"),
        Key("objective/scores", "reward_mean"),
        Key("objective/rlhf_reward", "reward_with_kl_mean"),
        Key("group_reward_std", "reward_std_group_mean"),
        Key("reward_std", "reward_std_batch", when="group_reward_std"),
        Key("reward_std", "reward_std_batch", when="step_time", note=_STD_BATCH),
        Key("reward_std", "reward_std_group_mean", note=_STD_GROUP),
        Key("frac_reward_zero_std", "zero_variance_group_fraction"),
        # preference optimisation: before the reward components, whose keys look alike
        Key("rewards/chosen", "chosen_reward_mean"),
        Key("rewards/rejected", "rejected_reward_mean"),
        Key("rewards/margins", "preference_margin_mean"),
        Key("rewards/accuracies", "preference_accuracy_fraction"),
        Key("logps/chosen", "chosen_logprob_mean"),
        Key("logps/rejected", "rejected_logprob_mean"),
        Key("logits/chosen", "", note="mean logits have no canonical metric"),
        Key("logits/rejected", "", note="mean logits have no canonical metric"),
        Key("rewards/{name}/mean", "reward_component_mean/{name}"),
        Key("rewards/{name}/std", "reward_component_std/{name}"),
        Key("rewards/{name}", "reward_component_mean/{name}"),
        Key("kl", "kl_mean", measure=_REFERENCE, note="RLOO logs k1 under the same key"),
        Key("objective/kl", "kl_mean", measure=_SEQUENCE),
        Key("policy/approxkl_avg", "kl_old_mean", measure=replace(_OLD, estimator="k2")),
        Key("beta", "kl_coefficient"),
        Key("entropy", "entropy_mean"),
        Key("policy/entropy_avg", "entropy_mean"),
        Key("objective/entropy", "", note="summed over the sequence, not per token"),
        Key("entropy_coef", "", note="coefficient, not a measurement"),
        Key("clip_ratio/region_mean", "clip_fraction", note=_ZERO),
        Key("clip_ratio/low_mean", "clip_fraction_low", note=_ZERO),
        Key("clip_ratio/high_mean", "clip_fraction_high", note=_ZERO),
        Key("clip_ratio", "clip_fraction", note=_ZERO),
        Key("cispo_clip_ratio", "clip_fraction", note=_ZERO),
        Key("policy/clipfrac_avg", "clip_fraction"),
        Key("clip_ratio/low_min", "", note="extreme over processes of a fraction"),
        Key("clip_ratio/high_max", "", note="extreme over processes of a fraction"),
        Key("ratio", "ratio_mean"),
        Key("val/ratio", "ratio_mean"),
        Key("sampling/sampling_logp_difference/mean", "sampler_logprob_difference_mean", measure=Measure(pair="sampler/policy", per="token")),
        Key("sampling/sampling_logp_difference/max", "sampler_logprob_difference_max", measure=Measure(pair="sampler/policy", per="token")),
        Key("sampling/importance_sampling_ratio/mean", "sampler_ratio_mean", measure=Measure(pair="sampler/policy")),
        Key("sampling/importance_sampling_ratio/min", "sampler_ratio_min", measure=Measure(pair="sampler/policy")),
        Key("sampling/importance_sampling_ratio/max", "sampler_ratio_max", measure=Measure(pair="sampler/policy")),
        Key("sample/staleness_mean", "staleness_mean"),
        Key("sample/staleness_max", "staleness_max"),
        Key("loss", "loss", note="transformers replaces a NaN loss by the running mean unless logging_nan_inf_filter is off"),
        Key("Training Loss", "loss", note=_ROUNDED),
        Key("policy_loss", "policy_loss"),
        Key("loss/policy_avg", "policy_loss"),
        Key("loss/value_avg", "value_loss"),
        Key("val/clipfrac_avg", "value_clip_fraction"),
        Key("grad_norm", "grad_norm"),
        Key("learning_rate", "learning_rate"),
        Key("lr", "learning_rate"),
        Key("completions/mean_length", "completion_tokens_mean"),
        Key("completion_length", "completion_tokens_mean"),
        Key("completions/min_length", "completion_tokens_min", note=_MEAN_OF),
        Key("completions/max_length", "completion_tokens_max", note=_MEAN_OF),
        Key("completions/mean_terminated_length", "terminated_tokens_mean"),
        Key("completions/min_terminated_length", "", note="shortest of the completions that ended by themselves"),
        Key("completions/max_terminated_length", "", note="longest of the completions that ended by themselves"),
        Key("completions/clipped_ratio", "truncated_fraction"),
        Key("val/contain_eos_token", "truncated_fraction", scale=-1.0, offset=1.0),
        Key("tools/call_frequency", "tool_calls_mean"),
        Key("tools/failure_frequency", "tool_failure_fraction"),
        Key("step_time", "step_seconds"),
        Key("num_tokens", "tokens_total", note="prompts and completions"),
        Key("epoch", "epoch"),
        Key("eval_reward", "evaluation_score/reward"),
        Key("eval_rewards/accuracies", "evaluation_score/preference_accuracy"),
        Key("eval_rewards/{name}/mean", "evaluation_score/{name}"),
        Key("eval/reward", "evaluation_score/reward"),
    ),
)
