"""DeepSpeed-Chat: PPO with a critic, from the lines that its third step prints."""

from rlprobe.importers.keymaps.key import Key, KeyMap

# fmt: off
MAP = KeyMap(
    framework="deepspeed-chat",
    marks=("act_loss", "cri_loss", "unsuper_loss", "average reward score"),
    algorithms=(("", "ppo"),),
    keys=(
        Key("average reward score", "reward_mean"),
        Key("act_loss", "policy_loss"),
        Key("cri_loss", "value_loss"),
        Key("unsuper_loss", "", note="loss of the supervised mixture"),
        Key("epoch", "epoch"),
    ),
)
