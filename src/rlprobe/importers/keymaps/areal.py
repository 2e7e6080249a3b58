"""AReaL: keys carry a scope before and a statistic behind, so that the last two parts of the path name the metric."""

from rlprobe.importers.keymaps.key import PLAIN, Key, KeyMap, Measure

_TABLE = (
    ("task_reward/avg", "reward_mean", PLAIN, ""),
    ("task_reward/max", "reward_max", PLAIN, ""),
    ("task_reward/min", "reward_min", PLAIN, ""),
    ("final_reward/avg", "reward_with_kl_mean", PLAIN, ""),
    ("kl_rewards/avg", "", PLAIN, "KL as a reward: scaled by its coefficient and with the sign of a reward"),
    ("advantages/avg", "advantage_mean", PLAIN, ""),
    ("advantages/max", "advantage_max", PLAIN, ""),
    ("advantages/min", "advantage_min", PLAIN, ""),
    ("entropy/avg", "entropy_mean", PLAIN, ""),
    ("approx_kl/avg", "kl_old_mean", Measure(pair="policy/old", per="token"), ""),
    ("behave_approx_kl/avg", "sampler_kl_mean", Measure(pair="sampler/policy", per="token"), ""),
    ("behave_imp_weight/avg", "sampler_ratio_mean", Measure(pair="sampler/policy", per="token"), ""),
    ("behave_imp_weight/max", "sampler_ratio_max", Measure(pair="sampler/policy", per="token"), ""),
    ("importance_weight/avg", "ratio_mean", PLAIN, ""),
    ("importance_weight/max", "ratio_max", PLAIN, ""),
    ("importance_weight/min", "ratio_min", PLAIN, ""),
    ("clip_ratio/avg", "clip_fraction", PLAIN, ""),
    ("actor_loss/avg", "policy_loss", PLAIN, ""),
    ("no_eos_ratios/avg", "truncated_fraction", PLAIN, ""),
    ("prompt_len/avg", "prompt_tokens_mean", PLAIN, ""),
    ("grad_norm", "grad_norm", PLAIN, ""),
    ("lr", "learning_rate", PLAIN, ""),
    ("version_stats/sample_staleness_theta_avg", "staleness_mean", PLAIN, ""),
    ("version_stats/sample_staleness_theta_max", "staleness_max", PLAIN, ""),
)

# fmt: off
MAP = KeyMap(
    framework="areal",
    marks=("*task_reward/avg", "*no_eos_ratios/avg", "*behave_imp_weight/avg", "*actor_loss/avg", "*importance_weight/avg"),
    algorithms=(("", "grpo"),),
    keys=tuple(
        Key(scope + suffix, metric, measure=measure, note=note) for suffix, metric, measure, note in _TABLE for scope in ("", "{name}/")
    ),
)
