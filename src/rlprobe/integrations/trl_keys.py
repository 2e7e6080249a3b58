"""What TRL's trainers call a metric, and its canonical name."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from rlprobe.recording.run import Metadata

Fold = Literal["mean", "min", "max", "last"]

METADATA: Mapping[str, Metadata] = {
    "kl_mean": Metadata(unit="nats/token", estimator="k3", pair="policy/reference", per="token"),
    "kl_max": Metadata(unit="nats/token", estimator="k3", pair="policy/reference", per="token"),
    "kl_old_mean": Metadata(unit="nats/token", estimator="k3", pair="policy/old", per="token"),
    "trl/kl": Metadata(
        unit="nats/token",
        pair="policy/reference",
        per="token",
        key="kl",
        note="as TRL logs it: RLOO k1 at scoring time, GRPO k3 times the ratio with use_bias_correction_kl",
    ),
    "advantage_reward_disagreement_fraction": Metadata(unit="fraction", note="of the samples where neither is zero"),
    "tokens_per_second": Metadata(unit="tokens/second", note="prompt and completion tokens of this process"),
}

_COMPONENT = re.compile(r"(?P<set>.+_)?rewards/(?P<function>.+)/mean")
_ACCURACIES = re.compile(r"(?P<set>.+_)?rewards/accuracies")
_SEQUENCE = Metadata(unit="nats/sequence", estimator="k1", pair="policy/reference", per="sequence")
_SAMPLED = Metadata(unit="nats/token", estimator="k1", pair="policy/reference", per="token")


@dataclass(frozen=True, slots=True)
class Key:
    """A canonical name, and how several values of one step (one a micro-batch) become one."""

    name: str
    fold: Fold = "mean"


# Keys of trl 1.16. `policy_loss` is left out on purpose: TRL's includes the KL term, the canonical one does not.
KEYS: Mapping[str, Key] = {
    "loss": Key("loss"),
    "grad_norm": Key("grad_norm"),
    "learning_rate": Key("learning_rate", "last"),
    "epoch": Key("epoch", "last"),
    "num_tokens": Key("tokens_total", "last"),
    "reward": Key("reward_mean"),
    "reward_std": Key("reward_std_batch"),  # since 0.29; before, the mean of the groups' deviations
    "frac_reward_zero_std": Key("zero_variance_group_fraction"),
    "entropy": Key("entropy_mean"),
    "kl": Key("kl_mean"),
    "completions/mean_length": Key("completion_tokens_mean"),
    "completions/min_length": Key("completion_tokens_min", "min"),
    "completions/max_length": Key("completion_tokens_max", "max"),
    "completions/mean_terminated_length": Key("terminated_tokens_mean"),
    "completions/clipped_ratio": Key("truncated_fraction"),
    "clip_ratio/region_mean": Key("clip_fraction"),
    "clip_ratio/low_mean": Key("clip_fraction_low"),
    "clip_ratio/high_mean": Key("clip_fraction_high"),
    "cispo_clip_ratio": Key("clip_fraction"),
    "sampling/sampling_logp_difference/mean": Key("sampler_logprob_difference_mean"),
    "sampling/sampling_logp_difference/max": Key("sampler_logprob_difference_max", "max"),
    "sampling/importance_sampling_ratio/min": Key("sampler_ratio_min", "min"),
    "sampling/importance_sampling_ratio/mean": Key("sampler_ratio_mean"),
    "sampling/importance_sampling_ratio/max": Key("sampler_ratio_max", "max"),
    "tools/call_frequency": Key("tool_calls_mean"),
    "tools/failure_frequency": Key("tool_failure_fraction"),
    "step_time": Key("trl/step_time"),  # training_step alone; step_seconds is the whole step
}


_PREFERENCES: Mapping[str, Key] = {
    "rewards/chosen": Key("chosen_reward_mean"),
    "rewards/rejected": Key("rejected_reward_mean"),
    "rewards/margins": Key("preference_margin_mean"),
    "rewards/accuracies": Key("preference_accuracy_fraction"),
    "logps/chosen": Key("chosen_logprob_mean"),
    "logps/rejected": Key("rejected_logprob_mean"),
    "kl": Key("trl/kl"),  # KTO's: of mismatched pairs, a sequence, never below 0
}
_ONLINE: Mapping[str, Key] = {
    **_PREFERENCES,
    "objective/scores": Key("reward_mean"),
    "objective/rlhf_reward": Key("reward_with_kl_mean"),
    "beta": Key("kl_coefficient", "last"),
    "val/contain_eos_token": Key("trl/contain_eos_token"),  # recorded from the samples as truncated_fraction
}
_XPO: Mapping[str, Key] = {
    **{key: found for key, found in _PREFERENCES.items() if not key.startswith("logps/")},  # sums of both models'
    "objective/model_scores": Key("reward_mean"),
    "beta": Key("kl_coefficient", "last"),
}
_NASH: Mapping[str, Key] = {  # its chosen are the policy's, its rejected the mixture's, and its margins log-ratios
    "rewards/chosen": Key("reward_mean"),
    "beta": Key("kl_coefficient", "last"),
}
_PPO: Mapping[str, Key] = {
    "objective/scores": Key("reward_mean"),
    "objective/rlhf_reward": Key("reward_with_kl_mean"),
    "policy/approxkl_avg": Key("kl_old_mean"),
    "policy/clipfrac_avg": Key("clip_fraction"),
    "policy/entropy_avg": Key("entropy_mean"),
    "loss/policy_avg": Key("policy_loss"),
    "loss/value_avg": Key("value_loss"),
    "val/clipfrac_avg": Key("value_clip_fraction"),
    "val/ratio": Key("ratio_mean"),
    "lr": Key("learning_rate", "last"),
    "episode": Key("episode", "last"),
}
# What keys mean in one kind of trainer; they go over KEYS.
KEYS_OF: Mapping[str, Mapping[str, Key]] = {
    **dict.fromkeys(("dpo", "kto", "cpo", "orpo", "tpo"), _PREFERENCES),
    "online_dpo": _ONLINE,
    "xpo": _XPO,
    "nash_md": _NASH,
    "ppo": _PPO,
    "reward": {"accuracy": Key("preference_accuracy_fraction"), "margin": Key("preference_margin_mean")},
}
_METADATA_OF: Mapping[str, Mapping[str, Metadata]] = {
    **{each: {"kl_mean": _SAMPLED, "objective/kl": _SEQUENCE} for each in ("online_dpo", "xpo", "nash_md")},
    "orpo": {
        name: Metadata(unit="nats/token", per="token") for name in ("chosen_logprob_mean", "rejected_logprob_mean")
    },
    "kto": {
        "trl/kl": Metadata(unit="nats/sequence", estimator="k1", pair="policy/reference", per="sequence", key="kl")
    },
    "ppo": {
        "kl_mean": _SAMPLED,
        "objective/kl": _SEQUENCE,
        "kl_old_mean": Metadata(unit="nats/token", estimator="k2", pair="policy/old", per="token"),
    },
}


def metadata_of(algorithm: str) -> Mapping[str, Metadata]:
    """What is known of the columns that a trainer of this algorithm makes."""
    return (
        METADATA
        if algorithm in ("grpo", "rloo")
        else {"tokens_per_second": METADATA["tokens_per_second"]} | (dict(_METADATA_OF.get(algorithm, {})))
    )


def canonical(key: str, algorithm: str = "grpo") -> Key:
    """The canonical name of one key of a training log; unknown keys keep their own."""
    known = KEYS_OF.get(algorithm, {}).get(key) or KEYS.get(key)
    if known is not None:
        return known
    parts = key.split("/")
    if parts[0] == "rewards" and len(parts) >= 3 and parts[-1] in ("mean", "std"):
        return Key(f"reward_component_{parts[-1]}/{'/'.join(parts[1:-1])}")
    return Key(f"trl/{key}" if key == "policy_loss" else key)


def evaluation_name(key: str) -> str:
    """Where a key of an evaluation's log goes: scores to evaluation_score/, the rest to evaluation/.

    With several evaluation sets TRL writes `eval_SET_reward` and `eval_SET_rewards/FUNCTION/mean`.
    """
    bare = key.removeprefix("eval_")
    if (accuracies := _ACCURACIES.fullmatch(bare)) is not None:
        return f"evaluation_score/{accuracies['set'] or ''}preference_accuracy"
    if (component := _COMPONENT.fullmatch(bare)) is not None:
        return f"evaluation_score/{component['set'] or ''}{component['function']}"
    score = bare == "reward" or (bare.endswith("_reward") and "/" not in bare)
    return f"evaluation_score/{bare}" if score else f"evaluation/{bare}"


def fold(values: Sequence[float], how: Fold) -> float:
    """One value of several; a NaN among them stays NaN, which TRL's own log drops."""
    if how == "last":
        return values[-1]
    if any(value != value for value in values):
        return float("nan")
    return {"mean": lambda: sum(values) / len(values), "min": lambda: min(values), "max": lambda: max(values)}[how]()


def number(value: object) -> float:
    """A logged value as a float: TRL logs None where every value was NaN, and pairs of a sum and its count."""
    if isinstance(value, tuple):
        top, bottom = value
        return float(top) / float(bottom) if bottom else float("nan")
    return float("nan") if value is None else float(value)  # type: ignore[arg-type]  # what cannot be a float raises, the guard catches
