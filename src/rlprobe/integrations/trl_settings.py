"""What can be known of a TRL trainer before it trains: algorithm, settings, configuration."""

from collections.abc import Mapping
from dataclasses import dataclass

from rlprobe.recording.settings import SETTINGS

_ALGORITHMS = {
    "GRPOTrainer": "grpo",
    "RLOOTrainer": "rloo",
    "DPOTrainer": "dpo",
    "OnlineDPOTrainer": "online_dpo",
    "XPOTrainer": "xpo",
    "NashMDTrainer": "nash_md",
    "KTOTrainer": "kto",
    "CPOTrainer": "cpo",
    "ORPOTrainer": "orpo",
    "TPOTrainer": "tpo",
    "PPOTrainer": "ppo",
    "RewardTrainer": "reward",
    "GKDTrainer": "gkd",
    "GOLDTrainer": "gold",
    "SFTTrainer": "sft",
    "AsyncGRPOTrainer": "async_grpo",
    "A2POTrainer": "a2po",
    "SDPOTrainer": "sdpo",
    "SDFTTrainer": "sdft",
    "DistillationTrainer": "distillation",
}
_ALGORITHMS |= {f"{name.removesuffix('Trainer')}Config": algorithm for name, algorithm in _ALGORITHMS.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """A trainer as it was set up.

    Attributes:
        algorithm: "grpo", "rloo" ...; "" when unknown.
        model: name or path of the model.
        settings: canonical setting -> value, as far as the trainer has a word for it.
        configuration: everything else, JSON values only.
    """

    algorithm: str
    model: str
    settings: Mapping[str, object]
    configuration: Mapping[str, object]


def algorithm_of(instance: object) -> str:
    """The algorithm that a trainer or its arguments stand for, by the names of its classes; "" when unknown."""
    for kind in type(instance).__mro__:
        if (name := _ALGORITHMS.get(kind.__name__)) is not None:
            return name
    return ""


def describe(trainer: object) -> Description:
    """Everything that a trainer tells of itself before it trains."""
    args = getattr(trainer, "args", None)
    model = getattr(trainer, "model", None)
    tokenizer = getattr(trainer, "_tokenizer", None) or getattr(trainer, "processing_class", None)
    settings = settings_of(args, model)
    configuration: dict[str, object] = {
        "trainer_class": type(trainer).__name__,
        "arguments": arguments_of(args),
        "reward_functions": [str(name) for name in getattr(trainer, "reward_func_names", ())],
        "reward_weights": _numbers(getattr(trainer, "reward_weights", None)),
        "eos_token_ids": [int(i) for i in getattr(trainer, "eos_token_ids", None) or ()],
        "pad_token_id": getattr(tokenizer, "pad_token_id", None),
        "model_config": _mapping(getattr(model, "config", None)),
        "generation_config": _mapping(getattr(trainer, "generation_config", None)),
        "peft_config": {name: _mapping(each) for name, each in (getattr(model, "peft_config", None) or {}).items()},
        "trainable_parameters": sum(p.numel() for p in model.parameters() if p.requires_grad) if model else 0,
        "old_logprobs": has_old_logprobs(trainer),
        "reference": _reference(trainer),
        "parallelism": parallelism(trainer),
    }
    return Description(
        algorithm=algorithm_of(trainer),
        model=model_name(model),
        settings=settings,
        configuration=configuration,
    )


def settings_of(args: object, model: object) -> dict[str, object]:
    """Canonical settings that the training arguments and the model hold."""
    out: dict[str, object] = {}
    for entry in SETTINGS:
        value = getattr(args, entry.trl, None) if entry.trl else None
        if value is not None:
            out[entry.name] = _plain(value)
    if out.get("clip_high") is None and "clip_low" in out and hasattr(args, "epsilon_high"):
        out["clip_high"] = out["clip_low"]  # TRL: epsilon_high falls back to epsilon
    if not getattr(args, "use_vllm", False):
        out.pop("sampler_correction", None)  # its default is on, but it only means something with a sampler apart
    if "dtype" in out:
        out["dtype"] = _dtype(args, model)
    if (size := getattr(getattr(model, "config", None), "vocab_size", None)) is not None:
        out["vocabulary_size"] = int(size)
    generated, group = getattr(args, "generation_batch_size", None), getattr(args, "num_generations", None)
    if generated and group:
        out["batch_prompts"] = int(generated) // int(group)
    return out


def arguments_of(args: object) -> dict[str, object]:
    """The training arguments as JSON values."""
    return _mapping(args)


def has_old_logprobs(trainer: object) -> bool:
    """Whether the loss has log-probs of scoring time; without, its ratio is 1 by construction.

    GRPO skips them when every rollout is trained on within one optimizer step; RLOO always has them.
    """
    if algorithm_of(trainer) == "rloo":
        return True
    args = getattr(trainer, "args", None)
    block = int(getattr(args, "steps_per_generation", 1) or 1) * int(getattr(args, "num_iterations", 1) or 1)
    corrected = getattr(args, "use_vllm", False) and getattr(args, "vllm_importance_sampling_correction", False)
    return int(getattr(args, "gradient_accumulation_steps", 1)) % block != 0 or bool(corrected)


def parallelism(trainer: object) -> str:
    """How the trainer's processes share the work: accelerate's word for it, "NO" for one process."""
    kind = getattr(getattr(trainer, "accelerator", None), "distributed_type", "NO")
    return str(getattr(kind, "value", kind))


def in_parts(trainer: object) -> bool:
    """Whether a process holds a part of the gradients alone, without their tensors saying so."""
    return parallelism(trainer) in ("FSDP", "DEEPSPEED", "MEGATRON_LM")


def model_name(model: object) -> str:
    """The model's name or path, else its class."""
    name = getattr(getattr(model, "config", None), "_name_or_path", "")
    return str(name or type(model).__name__)


def _reference(trainer: object) -> str:
    """Where the reference comes from: "none", "model", "policy" (the very same weights) or "adapter off"."""
    reference, policy = getattr(trainer, "ref_model", None), getattr(trainer, "model", None)
    if reference is not None:
        first, second = next(reference.parameters(), None), next(policy.parameters(), None) if policy else None
        shared = first is not None and second is not None and 0 != first.data_ptr() == second.data_ptr()
        return "policy" if reference is policy or shared else "model"
    beta = float(getattr(trainer, "beta", 0.0) or 0.0)
    return "adapter off" if beta and getattr(policy, "peft_config", None) else "none"


def _dtype(args: object, model: object) -> str:
    for name in ("bf16", "fp16"):
        if getattr(args, name, False):
            return name
    return str(getattr(model, "dtype", "")).removeprefix("torch.")


def _mapping(source: object) -> dict[str, object]:
    """What `to_dict` tells, as JSON values; empty for an object that has none."""
    to_dict = getattr(source, "to_dict", None)
    found = to_dict() if callable(to_dict) else {}
    return {str(key): _plain(value) for key, value in found.items()}


def _plain(value: object) -> object:
    """A JSON value; what is none becomes its text."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(each) for each in value]
    return str(value)


def _numbers(tensor: object) -> list[float] | None:
    tolist = getattr(tensor, "tolist", None)
    return None if tolist is None else [float(value) for value in tolist()]
