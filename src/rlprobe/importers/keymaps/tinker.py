"""tinker-cookbook, and what logs through its logger."""

from dataclasses import replace

from rlprobe.importers.keymaps.key import Key, KeyMap, Measure

_SAMPLED = "estimated from the sampled log-probs"
_SAMPLER = Measure(pair="sampler/policy", per="token")

# fmt: off
MAP = KeyMap(
    framework="tinker",
    marks=(
        "progress/batch",
        "progress/step",
        "progress/done_frac",
        "env/all/",
        "reward/mean",
        "optim/kl_sample_train_v1",
        "off_policy/lag_batches",
    ),
    algorithms=(("", "grpo"),),
    keys=(
        Key("env/all/reward/total", "reward_mean"),
        Key("reward/total", "reward_mean"),
        Key("reward/mean", "reward_mean"),
        # the reward-hacking study: g is the proxy that is optimised, f the true tests
        Key("reward/f", "true_reward_mean", note="fraction of true tests passed"),
        Key("reward/correctness_f", "true_reward_mean", note="fraction of true tests passed"),
        Key("reward/g_minus_f", "", note="difference of proxy and true score"),
        Key("reward/g", "reward_component_mean/g", note="proxy"),
        Key("reward/compilable_g", "reward_component_mean/compilable_g", note="proxy"),
        Key("reward/pass@1", "accuracy_fraction"),
        Key("env/all/correct", "accuracy_fraction"),
        Key("env/all/format", "format_fraction"),
        Key("env/all/reward/{name}", "reward_component_mean/{name}"),
        Key("reward/{name}", "reward_component_mean/{name}"),
        Key("env/all/by_group/frac_all_good", "all_right_group_fraction"),
        Key("env/all/by_group/frac_all_bad", "all_wrong_group_fraction"),
        Key("policy/entropy", "entropy_mean", measure=Measure(estimator="monte carlo"), note=_SAMPLED),
        Key("optim/entropy", "entropy_mean", measure=Measure(estimator="monte carlo"), note=_SAMPLED),
        Key("optim/kl_sample_train_v2", "sampler_kl_mean", measure=replace(_SAMPLER, estimator="k2")),
        Key("optim/kl_sample_train_v1", "sampler_kl_mean", measure=replace(_SAMPLER, estimator="k1"), unless=("optim/kl_sample_train_v2",)),
        Key("kl_policy_base", "kl_mean", measure=Measure(estimator="k1", pair="policy/reference", per="token")),
        Key("teacher_kl", "kl_mean", measure=Measure(estimator="k1", pair="policy/reference", per="token"), note="compares with a teacher"),
        Key("optim/lr", "learning_rate"),
        Key("skyrl.ai/grad_norm", "grad_norm", note="of a summed loss: thousands are normal"),
        Key("skyrl.ai/learning_rate", "learning_rate"),
        Key("env/all/ac_tokens_per_turn", "completion_tokens_mean", note="tokens of one turn"),
        Key("env/all/turns_per_episode", "turns_mean"),
        Key("stop/max_tokens", "truncated_fraction"),
        Key("off_policy/lag_batches", "staleness_mean"),
        Key("data/num_rollouts", "samples_count"),
        Key("time/total", "step_seconds"),
        Key("time/sampling_time_mean", "generation_seconds"),
        Key("progress/epoch", "epoch"),
        Key("progress/done_frac", "", note="fraction of the planned steps that is done"),
        Key("timestamp", "wall_time"),
        Key("test/env/all/reward/total", "evaluation_score/reward"),
        Key("test/env/all/correct", "evaluation_score/correct"),
    ),
)
