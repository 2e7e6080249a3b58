"""What the user says his code is meant to do, under canonical names, completed by what the named algorithm implies."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, is_dataclass

# Canonical name -> other spellings. TRL, verl and OpenRLHF names are among them.
# fmt: off
NAMES: Mapping[str, tuple[str, ...]] = {
    "algorithm": ("algo", "method"),
    "baseline": ("advantage_baseline",),                      # group, leave_one_out, batch, none
    "advantage_scaling": ("scale_rewards", "norm_adv_by_std_in_grpo", "normalize_advantages"),  # group, batch, none
    "advantage_epsilon": ("adv_eps", "std_eps"),
    "aggregation": ("loss_type", "loss_agg_mode", "reduction"),  # sequence_mean, token_mean, constant
    "ratio": ("importance_sampling_level", "ratio_level"),    # token, sequence
    "clip_low": ("epsilon_low", "clip_ratio_low", "eps_clip_low"),
    "clip_high": ("epsilon_high", "clip_ratio_high", "eps_clip_high"),
    "clip": ("epsilon", "clip_range", "cliprange", "clip_ratio", "eps_clip", "clip_eps"),
    "kl_estimator": ("kl_type", "kl_loss_type", "kl_penalty"),  # k1, k2, k3, none
    "kl_coefficient": ("beta", "kl_coef", "kl_loss_coef", "init_kl_coef"),
    "entropy_coefficient": ("entropy_coef", "entropy_coeff"),
    "temperature": (),
    "raw_logits": (),                                         # true: no temperature was applied before `logprobs`
    "gamma": (),
    "lam": ("gae_lambda", "lambda"),
    "dpo_beta": (),
    "dpo_loss_type": (),                                      # sigmoid, ipo, hinge, kto ...
    "label_smoothing": (),
    "length_normalized": ("average_log_prob",),
    "reasoning": (),                                          # keep, extract
    "reasoning_tags": (),
    "pad_side": ("padding_side",),
    "inner_steps": ("updates_per_rollout", "num_iterations", "ppo_epochs", "mini_epochs"),
    "group_size": ("num_generations", "n_samples_per_prompt", "rollout_n"),
    "mask_truncated": ("mask_truncated_completions",),
    "bootstrap_truncated": (),
    "whiten_shift": (),
    "value_clip": ("cliprange_value", "value_clip_range"),
    "eos_id": ("eos_token_id",),
    "pad_id": ("pad_token_id",),
    "max_completion_tokens": ("max_completion_length", "generate_max_len", "max_response_length"),
    "learning_rate": ("lr", "actor_learning_rate"),
    "adapter": ("lora", "peft"),
}
# fmt: on
_CANONICAL = {other: name for name, others in NAMES.items() for other in others}

# What an algorithm's paper fixes; whatever the user declares himself stands above it.
ALGORITHMS: Mapping[str, Mapping[str, object]] = {
    "grpo": {"baseline": "group"},  # DeepSeekMath 2024, section 4.1
    "dr_grpo": {"baseline": "group", "advantage_scaling": "none"},  # Liu et al. 2025
    "dapo": {"baseline": "group", "aggregation": "token_mean"},  # Yu et al. 2025, equation 8
    "gspo": {"baseline": "group", "ratio": "sequence"},  # Zheng et al. 2025
    "cispo": {"baseline": "group"},
    "rloo": {"baseline": "leave_one_out"},  # Ahmadian et al. 2024
    "reinforce_pp": {"baseline": "batch"},  # Hu 2025
    "reinforce_pp_baseline": {"baseline": "group"},
    "reinforce": {},
    "ppo": {},
    "dpo": {},
}
_SPELLINGS = {"reinforce++": "reinforce_pp", "reinforce++_baseline": "reinforce_pp_baseline", "drgrpo": "dr_grpo"}
_AGGREGATIONS = {
    "grpo": "sequence_mean",
    "sapo": "sequence_mean",
    "seq-mean-token-mean": "sequence_mean",
    "sequence_mean": "sequence_mean",
    "seq_mean": "sequence_mean",
    "bnpo": "token_mean",
    "dapo": "token_mean",
    "token-mean": "token_mean",
    "token_mean": "token_mean",
    "dr_grpo": "constant",
    "constant": "constant",
    "seq-mean-token-sum-norm": "constant",
    "seq-mean-token-sum": "sequence_sum",
    "sequence_sum": "sequence_sum",
    "sum": "token_sum",
    "token_sum": "token_sum",
}
_SCALINGS = {
    True: "group",
    False: "none",
    "true": "group",
    "false": "none",
    "group": "group",
    "batch": "batch",
    "none": "none",
}


@dataclass(frozen=True, slots=True)
class Declared:
    """Settings by canonical name; `said` are the user's own, `implied` those of the algorithm he named.

    Attributes:
        config: the configuration as he handed it over.
        declarations: canonical names of what he declared beside the configuration.
    """

    said: Mapping[str, object]
    implied: Mapping[str, object]
    config: object = None
    declarations: frozenset[str] = frozenset()

    def get(self, name: str) -> object:
        """The value, the user's before the algorithm's; None where neither says anything."""
        return self.said.get(name, self.implied.get(name))

    def number(self, name: str) -> float | None:
        """The value as a number; None where it is absent or no number."""
        value = self.get(name)
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None

    def text(self, name: str) -> str:
        """The value as lower-case text; "" where it is absent."""
        value = self.get(name)
        return "" if value is None else str(value).lower()

    def clip(self) -> tuple[float | None, float | None]:
        """Declared lower and upper clip range; one epsilon stands for both."""
        low = self.number("clip_low")
        high = self.number("clip_high")
        both = self.number("clip")
        if low is None:
            low = both
        return low, low if high is None and both is not None else (both if high is None else high)

    def items(self) -> Iterator[tuple[str, object]]:
        """Every setting in force, by name."""
        yield from sorted({**self.implied, **self.said}.items())


def declared(config: object, declare: Mapping[str, object]) -> Declared:
    """Canonical settings from a configuration (mapping, dataclass or object with attributes) and declarations."""
    said = {**_canonical(as_mapping(config)), **_canonical(declare)}
    algorithm = str(said.get("algorithm", "")).lower().replace("-", "_").replace(" ", "_").replace(".", "")
    algorithm = _SPELLINGS.get(algorithm, algorithm)
    if algorithm:
        said["algorithm"] = algorithm
    return Declared(
        said=said,
        implied=ALGORITHMS.get(algorithm, {}),
        config=config,
        declarations=frozenset(_canonical(declare)),
    )


def as_mapping(config: object) -> dict[str, object]:
    """A configuration as a mapping; what has no readable attributes gives an empty one."""
    if isinstance(config, Mapping):
        return {str(name): value for name, value in config.items()}
    if is_dataclass(config) and not isinstance(config, type):
        return {name: value for name, value in asdict(config).items()}
    return dict(vars(config)) if hasattr(config, "__dict__") else {}


def canonical_name(name: str) -> str:
    """The canonical name of a setting; the name itself where it is unknown."""
    return _CANONICAL.get(name, name)


def _canonical(given: Mapping[str, object]) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, value in given.items():
        if value is not None:
            found[_CANONICAL.get(name, name)] = value
    scaling = found.get("advantage_scaling")
    if scaling is not None:
        key = scaling.lower() if isinstance(scaling, str) else scaling
        found["advantage_scaling"] = _SCALINGS.get(key, str(scaling)) if isinstance(key, str | bool) else str(scaling)
    if "aggregation" in found:
        given_name = str(found["aggregation"]).lower()
        if given_name in _AGGREGATIONS:
            found["aggregation"] = _AGGREGATIONS[given_name]
        else:
            del found["aggregation"]
            found["loss_type"] = given_name
    return found
