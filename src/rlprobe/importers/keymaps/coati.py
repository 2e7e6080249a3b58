"""ColossalAI Coati: PPO with a critic (TensorBoard scalars)."""

from rlprobe.importers.keymaps.key import Key, KeyMap, Measure

# fmt: off
MAP = KeyMap(
    framework="coati",
    marks=(
        "train/max_ratio",
        "train/skip",
        "train/actor_loss",
        "train/critic_loss",
        "train/lr_actor",
        "train/ptx_loss",
    ),
    algorithms=(("train/critic_loss", "ppo"), ("", "ppo")),
    keys=(
        Key("reward", "reward_mean", rollout=True),
        Key("reward_with_kl", "reward_with_kl_mean", rollout=True),
        Key("value", "value_mean", rollout=True),
        Key("advantages", "advantage_mean", rollout=True),
        Key("approx_kl", "kl_mean", measure=Measure(pair="policy/reference")),
        Key("response_length", "completion_tokens_mean", rollout=True),
        Key("train/actor_loss", "policy_loss"),
        Key("train/critic_loss", "value_loss"),
        Key("train/ptx_loss", "", note="loss of the supervised mixture"),
        Key("train/max_ratio", "ratio_max"),
        Key("train/skip", "skipped_update_fraction", note="1 where a ratio above the bound made the trainer skip the update"),
        Key("train/lr_actor", "learning_rate"),
        Key("train/lr_critic", "value_learning_rate"),
        Key("_wall_time", "wall_time"),
    ),
)
