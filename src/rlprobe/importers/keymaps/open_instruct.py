"""open-instruct (Ai2): GRPO and PPO with verifiable rewards; its step counts episodes."""

from rlprobe.importers.keymaps.key import Key, KeyMap, Measure

# fmt: off
MAP = KeyMap(
    framework="open-instruct",
    marks=("objective/verifiable_reward", "objective/verifiable_correct_rate", "val/sequence_lengths", "val/stop_rate", "val/num_stop_token_ids"),
    algorithms=(("loss/value_avg", "ppo"), ("", "grpo")),
    keys=(
        Key("objective/scores", "reward_mean"),
        Key("objective/verifiable_reward", "reward_mean"),
        Key("objective/rlhf_reward", "reward_with_kl_mean"),
        Key("objective/verifiable_correct_rate", "accuracy_fraction"),
        Key("objective/kl_avg", "kl_mean", measure=Measure(pair="policy/reference", per="token")),
        Key("objective/kl", "kl_mean", measure=Measure(estimator="k1", pair="policy/reference", per="sequence", unit="nats/sequence")),
        Key("reward_ema", "", note="a moving average of the reward"),
        Key("correct_rate_ema", "", note="a moving average of the fraction right"),
        Key("ema_span", "", note="width of the moving averages"),
        Key("loss/policy_avg", "policy_loss"),
        Key("loss/value_avg", "value_loss"),
        Key("loss/total_avg", "loss"),
        Key("policy/clipfrac_avg", "clip_fraction"),
        Key("policy/approxkl_avg", "kl_old_mean", measure=Measure(estimator="k2", pair="policy/old", per="token")),
        Key("val/ratio", "ratio_mean"),
        Key("val/sequence_lengths", "completion_tokens_mean"),
        Key("val/sequence_lengths_min", "completion_tokens_min"),
        Key("val/sequence_lengths_max", "completion_tokens_max"),
        Key("val/stop_rate", "truncated_fraction", scale=-1.0, offset=1.0),
        Key("val/advantages_mean", "advantage_mean"),
        Key("val/advantages_min", "advantage_min"),
        Key("val/advantages_max", "advantage_max"),
        Key("lr", "learning_rate"),
        Key("optim/grad_norm", "grad_norm"),
        Key("time/training", "", note="a part of the step"),
        Key("eval/{name}", "evaluation_score/{name}"),
    ),
)
