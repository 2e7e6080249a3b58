"""verl and its recipes (DAPO, agent loops, fully asynchronous), with EasyR1, which keeps its names.

Read from verl 0.9.1 and logs of 2025 to 2026. `critic/score` and `critic/rewards` exist without any critic.
"""

from dataclasses import replace

from rlprobe.importers.keymaps.key import Key, KeyMap, Measure

_ROLLOUT = Measure(pair="sampler/policy", per="token")
_REFERENCE = Measure(pair="policy/reference", per="token")
_TEACHER = "may compare with a teacher instead of the reference (on-policy distillation)"
_KL_TYPE = "the estimator is kl_loss_type (low_var_kl is k3)"
_SCORE = ("critic/score/mean",)
_RETURNS = "without a value head a copy of the advantages"
_PADDED = "length equals the longest of the step's batch, which is the cap once a completion reaches it"
_GIB = float(1 << 30)

# fmt: off
MAP = KeyMap(
    framework="verl",
    marks=(
        "actor/",
        "critic/score/",
        "critic/rewards/",
        "critic/advantages/",
        "response_length/",
        "global_seqlen/",
        "timing_s/",
        "perf/mfu/",
        "perf/max_memory_allocated_gb",
        "perf/time_per_step",
        "val-core/",
        "val-aux/",
        "rollout_corr/",
        "training/rollout_probs_diff_mean",
        "critic/vf_loss",
    ),
    algorithms=(
        ("critic/vf_loss", "ppo"),
        ("critic/vf_explained_var", "ppo"),
        ("critic/grad_norm", "ppo"),
        ("", "grpo"),
    ),
    keys=(
        Key("critic/score/mean", "reward_mean"),
        Key("critic/rewards/mean", "reward_with_kl_mean", when="critic/score/mean", note="after the KL penalty, where one is set"),
        Key("critic/rewards/mean", "reward_mean", unless=_SCORE, note="after the KL penalty, where one is set; no raw score is logged"),
        Key("critic/score/max", "reward_max"),
        Key("critic/score/min", "reward_min"),
        Key("critic/rewards/max", "reward_max", unless=_SCORE),
        Key("critic/rewards/min", "reward_min", unless=_SCORE),
        Key("reward/overall", "reward_mean"),
        Key("reward/accuracy", "accuracy_fraction"),
        Key("reward/format", "format_fraction"),
        Key("reward/{name}", "reward_component_mean/{name}"),
        Key("critic/advantages/mean", "advantage_mean", measure=Measure(per="token")),
        Key("critic/advantages/max", "advantage_max", measure=Measure(per="token")),
        Key("critic/advantages/min", "advantage_min", measure=Measure(per="token")),
        Key("critic/returns/mean", "return_mean", note=_RETURNS),
        Key("critic/returns/max", "return_max", note=_RETURNS),
        Key("critic/returns/min", "return_min", note=_RETURNS),
        Key("actor/kl_loss", "kl_mean", measure=_REFERENCE, note=_KL_TYPE),
        Key("actor/reward_kl_penalty", "kl_mean", measure=replace(_REFERENCE, estimator="k1"), unless=("actor/kl_loss",), note=_TEACHER),
        Key("actor/token_kl/mean", "kl_mean", measure=replace(_REFERENCE, estimator="k1"), unless=("actor/kl_loss", "actor/reward_kl_penalty"), note=_TEACHER + "; signed"),
        Key("actor/token_kl/max", "kl_max", measure=replace(_REFERENCE, estimator="k1"), unless=("actor/kl_loss", "actor/reward_kl_penalty"), note=_TEACHER),
        Key("actor/kl_coef", "kl_coefficient"),
        Key("actor/reward_kl_penalty_coeff", "kl_coefficient"),
        Key("actor/ppo_kl", "kl_old_mean", measure=Measure(estimator="k1", pair="policy/old", per="token"), note="about 0 with one update a rollout, of either sign"),
        Key("actor/entropy", "entropy_mean"),
        Key("actor/entropy_loss", "entropy_mean", note="positive in spite of its name"),
        Key("actor/pg_clipfrac", "clip_fraction", note="0 with one update a rollout"),
        Key("actor/pg_clipfrac_higher", "clip_fraction_high"),
        Key("actor/pg_clipfrac_lower", "", note="fraction clipped by the dual clip, not at the lower bound"),
        Key("actor/loss", "loss"),
        Key("actor/pg_loss", "policy_loss"),
        Key("actor/grad_norm", "grad_norm", note="an update with a non-finite norm is skipped"),
        Key("actor/lr", "learning_rate"),
        Key("actor/lr(1e-4)", "learning_rate", scale=1e-4),
        Key("critic/lr", "value_learning_rate"),
        Key("critic/lr(1e-4)", "value_learning_rate", scale=1e-4),
        Key("critic/vf_loss", "value_loss"),
        Key("critic/vf_explained_var", "value_explained_variance"),
        Key("critic/vf_clipfrac", "value_clip_fraction"),
        Key("critic/vpred_mean", "value_mean"),
        Key("critic/values/mean", "value_mean"),
        Key("critic/grad_norm", "value_grad_norm"),
        Key("training/rollout_probs_diff_mean", "sampler_probability_difference_mean", measure=_ROLLOUT),
        Key("training/rollout_probs_diff_max", "sampler_probability_difference_max", measure=_ROLLOUT),
        Key("training/rollout_actor_probs_pearson_corr", "sampler_probability_correlation", measure=_ROLLOUT),
        Key("rollout_corr/k3_kl", "sampler_kl_mean", measure=replace(_ROLLOUT, estimator="k3")),
        Key("rollout_corr/kl", "sampler_kl_mean", measure=replace(_ROLLOUT, estimator="k1"), unless=("rollout_corr/k3_kl",)),
        Key("rollout_corr/rollout_is_mean", "sampler_ratio_mean", measure=Measure(pair="sampler/policy")),
        Key("rollout_corr/rollout_is_max", "sampler_ratio_max", measure=Measure(pair="sampler/policy")),
        Key("rollout_corr/rollout_is_min", "sampler_ratio_min", measure=Measure(pair="sampler/policy")),
        Key("rollout_corr/rollout_is_eff_sample_size", "effective_sample_fraction"),
        Key("response_length/mean", "completion_tokens_mean", note="aborted samples count as length 0"),
        Key("response_length/max", "completion_tokens_max"),
        Key("response_length/min", "completion_tokens_min"),
        Key("response_length/clip_ratio", "truncated_fraction", note=_PADDED),
        Key("response/aborted_ratio", "aborted_fraction"),
        Key("prompt_length/mean", "prompt_tokens_mean"),
        Key("num_turns/mean", "turns_mean"),
        Key("training/num_turns/mean", "turns_mean"),
        Key("tool_call_counts/mean", "tool_calls_mean"),
        Key("rollout/tool_calls_avg", "tool_calls_mean"),
        Key("rollout/tool_success_rate", "tool_failure_fraction", scale=-1.0, offset=1.0),
        Key("timing_s/step", "step_seconds"),
        Key("perf/time_per_step", "step_seconds"),
        Key("timing_s/gen", "generation_seconds"),
        Key("timing_s/reward", "reward_seconds"),
        Key("perf/throughput", "tokens_per_second", note="per accelerator"),
        Key("perf/max_memory_allocated_gb", "memory_bytes", scale=_GIB),
        Key("perf/cpu_memory_used_gb", "host_memory_bytes", scale=_GIB),
        Key("training/off_policy/trajectory_staleness/mean", "staleness_mean"),
        Key("training/off_policy/trajectory_staleness/max", "staleness_max"),
        Key("training/epoch", "epoch"),
        Key("val-core/{name}", "evaluation_score/{name}"),
        Key("val/test_score/{name}", "evaluation_score/{name}"),
        Key("val/reward_score", "evaluation_score/reward"),
        Key("val/accuracy_reward", "evaluation_score/accuracy"),
    ),
)
