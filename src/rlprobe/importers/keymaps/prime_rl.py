"""prime-rl: the rows of its trainer's and its orchestrator's `metrics.jsonl`, which delete non-finite numbers."""

from rlprobe.importers.keymaps.key import Key, KeyMap, Measure

_SAMPLED = "estimated from the sampled log-probs"

# fmt: off
MAP = KeyMap(
    framework="prime-rl",
    marks=("mismatch_kl/", "train/agg/", "entropy/all/mean", "kl_ent_ratio/mean", "perf/throughput_per_gpu", "stop_condition/", "max_vio/mean", "optim/zero_grad_ratio"),
    algorithms=(("", "grpo"),),
    keys=(
        Key("train/agg/effective/{name}/reward/mean", "reward_mean"),
        Key("train/agg/all/{name}/reward/mean", "reward_mean", note="errored samples count as 0"),
        Key("reward/all/mean", "reward_mean"),
        Key("train/agg/effective/{name}/num_output_tokens/mean", "completion_tokens_mean"),
        Key("train/agg/effective/{name}/num_output_tokens/max", "completion_tokens_max"),
        Key("train/agg/effective/{name}/is_truncated/mean", "truncated_fraction"),
        Key("train/agg/all/{name}/has_error/mean", "aborted_fraction"),
        Key("seq_len/all/mean", "", note="prompt and completion together"),
        Key("solved_all", "all_right_group_fraction"),
        Key("solved_none", "all_wrong_group_fraction"),
        Key("entropy/all/mean", "entropy_mean", measure=Measure(estimator="monte carlo"), note=_SAMPLED),
        Key("mismatch_kl/all/mean", "sampler_kl_mean", measure=Measure(estimator="k3", pair="sampler/policy", per="token")),
        Key("is_masked/all/mean", "clip_fraction", note="tokens masked because sampler and policy differ too much"),
        Key("loss/mean", "loss"),
        Key("optim/grad_norm", "grad_norm"),
        Key("optim/lr", "learning_rate"),
        Key("perf/throughput", "tokens_per_second", note="of the whole job"),
        Key("perf/peak_memory", "memory_bytes", scale=float(1 << 30)),
        Key("off_policy/mean", "staleness_mean"),
        Key("off_policy/max", "staleness_max"),
        Key("time/step", "step_seconds"),
        Key("time", "wall_time"),
        Key("progress/epoch", "epoch"),
        Key("eval/{name}/avg@1", "evaluation_score/{name}/avg@1"),
    ),
)
