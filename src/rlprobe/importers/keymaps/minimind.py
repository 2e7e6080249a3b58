"""minimind: small GRPO, SPO and PPO loops, logged to wandb and printed."""

from rlprobe.importers.keymaps.key import Key, KeyMap, Measure

# fmt: off
MAP = KeyMap(
    framework="minimind",
    marks=("kl_ref", "avg_response_len"),
    loose=True,
    algorithms=(("critic_loss", "ppo"), ("Critic Loss", "ppo"), ("", "grpo")),
    keys=(
        Key("reward", "reward_mean"),
        Key("kl_ref", "kl_mean", measure=Measure(pair="policy/reference", per="token"), note="of either sign in the PPO loop"),
        Key("kl", "kl_old_mean", measure=Measure(estimator="k1", pair="policy/old", per="token"), when="kl_ref"),
        Key("avg_response_len", "completion_tokens_mean"),
        Key("actor_loss", "policy_loss"),
        Key("policy_loss", "policy_loss"),
        Key("critic_loss", "value_loss"),
        Key("advantages_std", "advantage_std"),
        Key("advantages_mean", "advantage_mean"),
        Key("aux_loss", "", note="load balance of the experts"),
        Key("actor_lr", "learning_rate"),
        Key("critic_lr", "value_learning_rate"),
        Key("learning_rate", "learning_rate"),
        Key("lr", "learning_rate"),
    ),
)
