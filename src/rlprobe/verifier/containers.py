"""What stands in for the containers that trainers hand around: a batch under any usual name, a configuration."""

from collections.abc import Callable, Iterator, Mapping, MutableSet

from rlprobe.verifier.declared import Declared, as_mapping, canonical_name
from rlprobe.verifier.scalars import USUAL

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
# What code reads of its settings where nobody said it.
USUAL_SETTINGS: Mapping[str, object] = {**USUAL, "inner_steps": 1}


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
