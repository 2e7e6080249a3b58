"""What stands in for the containers that trainers hand around: a batch, a configuration, a model with known logits."""

from collections.abc import Callable, Iterator, Mapping, MutableSet

from rlprobe.verifier.declared import Declared, as_mapping, canonical_name

# fmt: off
BATCH_NAMES = frozenset((
    "batch", "inputs", "experience", "exp", "data", "sample", "samples", "micro_batch", "minibatch", "mini_batch",
    "mb", "rollout", "rollouts", "batch_dict", "model_inputs", "experiences", "tensors", "td", "tensordict",
    "loss_inputs", "data_dict", "buffer", "batch_data", "example",
))
SETTINGS_NAMES = frozenset((
    "config", "cfg", "args", "hparams", "conf", "training_args", "opts", "ppo_config", "grpo_config", "algo_config",
    "hp", "settings", "trainer_args", "script_args", "params", "algorithm_config", "actor_config",
))
# fmt: on
INNER = ("batch", "non_tensor_batch", "meta_info", "info", "data")  # parts of verl's DataProto: the same batch again
# What code reads of its settings where nobody said it: the field's usual choice.
USUAL_SETTINGS: Mapping[str, object] = {
    "clip": 0.2, "clip_low": 0.2, "clip_high": 0.2, "kl_coefficient": 0.04, "entropy_coefficient": 0.0,
    "temperature": 1.0, "gamma": 1.0, "lam": 0.95, "dpo_beta": 0.1, "label_smoothing": 0.0, "value_clip": 0.2,
    "group_size": 4, "inner_steps": 1, "advantage_epsilon": 1e-6,
}  # fmt: skip


class Batch:
    """Arguments by role, found under whichever usual name the function asks for, as key or as attribute.

    Args:
        values: role -> value in the form that the function takes.
        name: (key) -> role; "" where no role is meant.
        read: gets the roles that are asked for.
    """

    def __init__(self, values: Mapping[str, object], name: Callable[[str], str], read: MutableSet[str]) -> None:
        self._values = values
        self._name = name
        self._read = read

    def __getitem__(self, key: str) -> object:
        if key in INNER:
            return self
        role = self._name(key) if isinstance(key, str) else ""
        if role not in self._values:
            raise KeyError(key)
        self._read.add(role)
        return self._values[role]

    def __getattr__(self, key: str) -> object:
        if key.startswith("__"):
            raise AttributeError(key)
        try:
            return self[key]
        except KeyError:
            raise AttributeError(f"the batch has no {key}") from None

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self._name(key) in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def get(self, key: str, default: object = None) -> object:
        """The value of a key, or the default."""
        try:
            return self[key]
        except KeyError:
            return default

    pop = get

    def keys(self) -> tuple[str, ...]:
        """Names of the roles that are in it."""
        return tuple(self._values)

    def to(self, *_where: object, **_how: object) -> "Batch":
        """The batch itself: there is one device."""
        return self


class Settings(Mapping[str, object]):
    """The user's configuration as code reads it, by key or attribute; what it lacks comes from the declarations.

    Args:
        config: the configuration, or a part of it.
        declared: canonical settings.
    """

    def __init__(self, config: object, declared: Declared) -> None:
        self._given = as_mapping(config)
        self._config = config
        self._declared = declared

    def __getitem__(self, key: str) -> object:
        if key in self._given:
            value = self._given[key]
            return Settings(value, self._declared) if isinstance(value, Mapping) else value
        found = self._said(key)
        if found is None:
            raise KeyError(key)
        return found

    def __getattr__(self, key: str) -> object:
        if key.startswith("__"):
            raise AttributeError(key)
        if key not in self._given and hasattr(self._config, key):
            return getattr(self._config, key)
        usual = USUAL_SETTINGS.get(canonical_name(key))
        try:
            return self[key]
        except KeyError:
            if usual is None:
                raise AttributeError(f"nothing says {key}") from None
            return usual

    def __iter__(self) -> Iterator[str]:
        return iter(self._given)

    def __len__(self) -> int:
        return len(self._given)

    def _said(self, key: str) -> object:
        name = canonical_name(key)
        if name in ("clip", "clip_low", "clip_high"):
            low, high = self._declared.clip()
            return high if name == "clip_high" else low
        return self._declared.get(name)


class PlantedModel:
    """A model that gives the same logits whatever it is asked; in the form of a library's output.

    Args:
        logits: [B,T,V].
    """

    training = True

    def __init__(self, logits: object) -> None:
        self._logits = logits

    def __call__(self, *_ids: object, **named: object) -> "PlantedOutput":
        kept = next((named[name] for name in ("logits_to_keep", "num_logits_to_keep") if named.get(name)), 0)
        logits = self._logits[:, -kept:] if isinstance(kept, int) and kept else self._logits  # type: ignore[index]  # an array
        return PlantedOutput(logits)

    forward = __call__

    def eval(self) -> "PlantedModel":
        """The model itself: it has no modes."""
        return self

    def train(self, _mode: object = True) -> "PlantedModel":  # noqa: FBT002 - torch's own signature
        """The model itself: it has no modes."""
        return self


class PlantedOutput:
    """Logits as attribute, key, first entry of a tuple, or the tensor itself.

    Args:
        logits: [B,T,V].
    """

    def __init__(self, logits: object) -> None:
        self.logits = logits

    def __getitem__(self, key: object) -> object:
        if key in ("logits", 0):
            return self.logits
        return self.logits[key]  # type: ignore[index]  # an array

    def __iter__(self) -> Iterator[object]:
        return iter((self.logits,))

    def __getattr__(self, key: str) -> object:
        if key.startswith("__") or key == "logits":
            raise AttributeError(key)
        return getattr(self.logits, key)

    def __truediv__(self, other: object) -> object:
        return self.logits / other  # type: ignore[operator]  # an array
