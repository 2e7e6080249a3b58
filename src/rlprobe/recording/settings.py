"""Canonical names of the settings that diagnosis and remedies speak of, with what each trainer calls them."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: canonical name, meaning, and its spelling in TRL, verl and OpenRLHF ("" where it has none).

    Attributes:
        former: what older versions of a trainer call it; read in configurations, told to nobody. OpenRLHF had flat
            flags before 0.10.
    """

    name: str
    meaning: str
    trl: str
    verl: str
    openrlhf: str
    former: tuple[str, ...] = ()

    @property
    def spelled(self) -> str:
        """What each trainer calls it, for a sentence in Markdown; "" where none has it."""
        words = {"TRL": self.trl, "verl": self.verl, "OpenRLHF": self.openrlhf}
        named = ", ".join(f"{trainer} `{word}`" for trainer, word in words.items() if word)
        without = " and ".join(trainer for trainer, word in words.items() if not word)
        return f"{named} (none in {without})" if named and without else named


_S = Setting
# One row a line, so that the table reads as one.
# fmt: off
SETTINGS: tuple[Setting, ...] = (
    _S("learning_rate", "peak learning rate of the policy", "learning_rate", "actor_rollout_ref.actor.optim.lr", "--actor.adam.lr", ("actor_learning_rate",)),
    _S("value_learning_rate", "learning rate of the value head", "", "critic.optim.lr", "--critic.adam.lr", ("critic_learning_rate",)),
    _S("kl_coefficient", "coefficient beta of the KL term", "beta", "actor_rollout_ref.actor.kl_loss_coef", "--algo.kl.init_coef", ("init_kl_coef",)),
    _S("entropy_coefficient", "coefficient of the entropy bonus", "entropy_coef", "actor_rollout_ref.actor.entropy_coeff", "--actor.entropy_coef", ("entropy_coef",)),
    _S("group_size", "samples a prompt", "num_generations", "actor_rollout_ref.rollout.n", "--rollout.n_samples_per_prompt", ("n_samples_per_prompt",)),
    _S("batch_prompts", "prompts a step", "", "data.train_batch_size", "--rollout.batch_size", ("rollout_batch_size",)),
    _S("updates_per_rollout", "optimizer passes over one rollout", "num_iterations", "actor_rollout_ref.actor.ppo_epochs", "--train.max_epochs", ("max_epochs",)),
    _S("clip_low", "lower clip range epsilon", "epsilon", "actor_rollout_ref.actor.clip_ratio_low", "--actor.eps_clip", ("eps_clip",)),
    _S("clip_high", "upper clip range epsilon", "epsilon_high", "actor_rollout_ref.actor.clip_ratio_high", "--actor.eps_clip_low_high", ("eps_clip_low_high",)),
    _S("loss_type", "how the loss is aggregated", "loss_type", "actor_rollout_ref.actor.loss_agg_mode", "--actor.loss_agg_mode", ("policy_loss_type",)),
    _S("advantage_scaling", "what the centred reward is divided by", "scale_rewards", "algorithm.norm_adv_by_std_in_grpo", "--algo.advantage.no_std_norm", ("no_advantage_std_norm",)),
    _S("max_completion_tokens", "length cap of a completion", "max_completion_length", "data.max_response_length", "--rollout.max_new_tokens", ("generate_max_len",)),
    _S("max_prompt_tokens", "length cap of a prompt", "", "data.max_prompt_length", "", ("max_prompt_length", "prompt_max_len")),
    _S("temperature", "sampling temperature", "temperature", "actor_rollout_ref.rollout.temperature", "--rollout.temperature"),
    _S("top_p", "nucleus sampling mass", "top_p", "actor_rollout_ref.rollout.top_p", "--rollout.top_p"),
    _S("top_k", "top-k sampling (0 or -1 is off)", "top_k", "actor_rollout_ref.rollout.top_k", ""),
    _S("max_grad_norm", "gradient norm clip", "max_grad_norm", "actor_rollout_ref.actor.grad_clip", "--actor.max_norm", ("max_norm",)),
    _S("warmup_steps", "learning rate warm-up", "warmup_steps", "actor_rollout_ref.actor.optim.lr_warmup_steps", "--actor.lr_warmup_ratio", ("lr_warmup_ratio",)),
    _S("mask_truncated", "whether truncated completions are left out of the loss", "mask_truncated_completions", "", ""),
    _S("sync_reference", "whether the reference follows the policy", "sync_ref_model", "", ""),
    _S("sampler_correction", "importance correction between sampler and trainer", "vllm_importance_sampling_correction", "algorithm.rollout_correction", "--algo.advantage.is_correction_level", ("enable_vllm_is_correction",)),
    _S("dtype", "number format of the weights in training", "bf16", "actor_rollout_ref.actor.fsdp_config.model_dtype", "--ds.param_dtype"),
    _S("vocabulary_size", "tokens in the vocabulary", "", "", ""),
    _S("logging_steps", "steps averaged into one logged row", "logging_steps", "", "--logger.logging_steps"),
    _S("max_steps", "planned number of steps", "max_steps", "trainer.total_training_steps", ""),
    _S("seed", "random seed", "seed", "", "--train.seed"),
)
# fmt: on

_BY_NAME: Mapping[str, Setting] = {setting.name: setting for setting in SETTINGS}


def setting(name: str) -> Setting:
    """The registry's entry.

    Raises:
        KeyError: there is no such canonical setting.
    """
    return _BY_NAME[name]


def spelling(name: str, framework: str) -> str:
    """What the framework calls the setting; the canonical name where it has no word of its own."""
    entry = _BY_NAME[name]
    return {"trl": entry.trl, "verl": entry.verl, "openrlhf": entry.openrlhf}.get(framework, "") or entry.name
