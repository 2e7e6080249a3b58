"""The user's settings under canonical names with his own spelling of each: flat as TRL and OpenRLHF have them, or
nested as verl has them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import SimpleNamespace

from rlprobe.verifier.declared import as_mapping, canonical_name
from rlprobe.verifier.subject import Subject

DEEPEST = 6  # levels of a nested configuration
# Settings that the registry of declarations does not know, by the names that trainers give them.
# fmt: off
FURTHER: Mapping[str, tuple[str, ...]] = {
    "value_learning_rate": ("critic_learning_rate",),
    "batch_size": ("generation_batch_size",),
    "device_batch": ("per_device_train_batch_size",),
    "accumulation": ("gradient_accumulation_steps",),
    "steps_per_generation": (),
    "processes": ("world_size", "num_processes"),
    "top_p": (), "top_k": (), "min_p": (), "repetition_penalty": (),
    "warmup_steps": ("lr_warmup_steps",),
    "warmup_ratio": ("lr_warmup_ratio", "lr_warmup_steps_ratio"),
    "max_steps": ("total_training_steps",),
    "max_grad_norm": ("grad_clip", "max_norm"),
    "dropout": ("attention_dropout", "hidden_dropout", "lora_dropout", "resid_pdrop", "attn_pdrop"),
    "sync_reference": ("sync_ref_model",),
    "sync_alpha": ("ref_model_mixup_alpha",), "sync_steps": ("ref_model_sync_steps",),
    "upper_clip": ("delta", "clip_ratio_c", "dual_clip"),
    "gamma": ("discount",), "lam": ("lambd",),
    "algorithm": ("advantage_estimator", "adv_estimator"),
    "inner_steps": ("max_epochs",),
    "clip_pair": ("eps_clip_low_high",),
    "mini_batch": ("ppo_mini_batch_size",), "batch_prompts": ("train_batch_size", "rollout_batch_size"),
    "weight_decay": (), "loss_type": (),
}
# verl: the end of a path in its configuration -> canonical name. What is not listed (validation, critic) says nothing.
NESTED: Mapping[str, str] = {
    "actor.optim.lr": "learning_rate", "critic.optim.lr": "value_learning_rate",
    "actor.optim.lr_warmup_steps": "warmup_steps", "actor.optim.lr_warmup_steps_ratio": "warmup_ratio",
    "actor.optim.weight_decay": "weight_decay",
    "actor.clip_ratio": "clip", "actor.clip_ratio_low": "clip_low", "actor.clip_ratio_high": "clip_high",
    "actor.clip_ratio_c": "upper_clip", "actor.kl_loss_coef": "kl_coefficient", "actor.kl_loss_type": "kl_estimator",
    "actor.entropy_coeff": "entropy_coefficient", "actor.loss_agg_mode": "loss_type",
    "actor.grad_clip": "max_grad_norm",
    "actor.ppo_epochs": "inner_steps", "actor.ppo_mini_batch_size": "mini_batch",
    "rollout.n": "group_size", "rollout.temperature": "temperature", "rollout.top_p": "top_p", "rollout.top_k": "top_k",
    "algorithm.gamma": "gamma", "algorithm.lam": "lam", "algorithm.adv_estimator": "algorithm",
    "algorithm.norm_adv_by_std_in_grpo": "advantage_scaling",
    "data.max_response_length": "max_completion_tokens", "data.train_batch_size": "batch_prompts",
    "trainer.total_training_steps": "max_steps",
}
# fmt: on
_FURTHER = {other: name for name, others in FURTHER.items() for other in others}
GROUPED = ("grpo", "dr_grpo", "dapo", "gspo", "cispo", "rloo", "reinforce_pp_baseline", "grpo_vectorized", "group_norm")


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings as the user gave them.

    Attributes:
        values: canonical name -> value.
        spelt: canonical name -> the user's name, a path where it is nested.
        raw: the user's name or path -> value, all of them.
        kind: class of the configuration, lower case ("grpoconfig").
    """

    values: Mapping[str, object]
    spelt: Mapping[str, str]
    raw: Mapping[str, object]
    kind: str

    def get(self, name: str) -> object:
        """The value; None where it is not set."""
        return self.values.get(name)

    def number(self, name: str) -> float | None:
        """The value as a number; None where it is not set or no number."""
        value = self.values.get(name)
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None

    def text(self, name: str) -> str:
        """The value in lower case; "" where it is not set."""
        value = self.values.get(name)
        return "" if value is None else str(value).lower()

    def named(self, name: str) -> str:
        """The user's spelling of a setting; the canonical name where he did not set it."""
        return self.spelt.get(name, name)

    @property
    def algorithm(self) -> str:
        """Named, or told by the class of the configuration; "" where neither says."""
        said = self.text("algorithm").replace("-", "_").replace(".", "")
        return said or next((one for one in ("grpo", "rloo", "dpo", "ppo", "kto") if self.kind.startswith(one)), "")

    @property
    def loss(self) -> str:
        """The loss by name, lower case; the first of several."""
        value = self.raw.get("loss_type", self.values.get("loss_type"))
        return str(value[0] if isinstance(value, list | tuple) and value else value or "").lower()

    @property
    def grouped(self) -> bool:
        """Whether the advantage is taken within a group."""
        return self.algorithm in GROUPED or self.text("baseline") in ("group", "leave_one_out")

    def example(self, *names: str) -> dict[str, object]:
        """Those settings under the user's names."""
        return {self.named(name): self.values[name] for name in names if name in self.values}


def settings(subject: Subject) -> Settings:
    """The settings of the configuration and of the declarations, the latter above the former."""
    found = subject.remember("settings", lambda: _made(subject))
    assert isinstance(found, Settings)
    return found


def _made(subject: Subject) -> Settings:
    config = subject.pipeline.config
    values: dict[str, object] = {}
    spelt: dict[str, str] = {}
    raw: dict[str, object] = {}
    for path, value in (*_leaves(as_mapping(config)), *subject.pipeline.declare.items()):
        raw[path] = value
        name = _canonical(path)
        if name is not None and value is not None:
            values[name], spelt[name] = value, path
    _pairs(values, spelt)
    if "algorithm" in subject.declared.said and "algorithm" not in values:
        values["algorithm"] = subject.declared.get("algorithm")
    _switches(values, raw)
    kind = "" if isinstance(config, Mapping) else type(config).__name__.lower()
    return Settings(values, spelt, raw, kind)


def _leaves(tree: Mapping[str, object], before: str = "", depth: int = 0) -> Iterator[tuple[str, object]]:
    for name, value in tree.items():
        path = f"{before}{name}"
        inner = vars(value) if isinstance(value, SimpleNamespace) else value
        if isinstance(inner, Mapping) and depth < DEEPEST and before + name != "declare":
            yield from _leaves({str(key): one for key, one in inner.items()}, f"{path}.", depth + 1)
        else:
            yield path, value


def _canonical(path: str) -> str | None:
    if "." in path:
        ending = ".".join(path.split(".")[-2:])
        longer = ".".join(path.split(".")[-3:])
        return NESTED.get(longer, NESTED.get(ending))
    return _FURTHER.get(path, canonical_name(path))


def _pairs(values: dict[str, object], spelt: dict[str, str]) -> None:
    pair = values.get("clip_pair")
    if isinstance(pair, list | tuple) and len(pair) == 2:
        values["clip_low"], values["clip_high"] = pair
        spelt["clip_low"] = spelt["clip_high"] = spelt["clip_pair"]


def _switches(values: dict[str, object], raw: Mapping[str, object]) -> None:
    """A coefficient that its own switch turns off is not in force (verl's use_kl_loss)."""
    for path, value in raw.items():
        if path.endswith("use_kl_loss") and not value:
            values.pop("kl_coefficient", None)
