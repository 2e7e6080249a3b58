"""Models that answer with what was planted: known logits, or logits under which each token has a known log-prob."""

import sys
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType

import numpy as np

PROMPT, TOKEN, VOCABULARY = 1, 3, 5  # id of the prompt's token, id of every completion token, number of ids
CERTAIN = -1e-9  # nats; the log-prob of a token to which nothing is left for the others


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

    @classmethod
    def __torch_function__(
        cls, function: Callable[..., object], _types: object, given: tuple[object, ...] = (),
        named: Mapping[str, object] | None = None,
    ) -> object:  # fmt: skip
        """A function of torch that is handed the output is handed the logits."""
        plain = [one.logits if isinstance(one, cls) else one for one in given]
        return function(*plain, **(named or {}))

    def __truediv__(self, other: object) -> object:
        return self.logits / other  # type: ignore[operator]  # an array


class TokenModel(PlantedModel):
    """A model under which the last tokens of a row have planted log-probs, each predicted one position before.

    Args:
        logprobs: [B,T]; a row that the model is asked for has at least T tokens of id `TOKEN` at its end.
        temperature: what the code under test divides the logits by.
        prompt: tokens before them.
    """

    def __init__(self, logprobs: object, temperature: float, prompt: int) -> None:
        planted = token_logits(logprobs, temperature)
        last = planted[:, -1:]  # type: ignore[index]  # an array
        super().__init__(_joined(*[last * 0] * (prompt - 1), planted, last))


def token_logits(logprobs: object, temperature: float = 1.0) -> object:
    """Logits [B,T,V] under which `TOKEN` has these log-probs [B,T] at that temperature; the graph is kept."""
    module = _module(logprobs)
    certain = module.clip(logprobs, None, CERTAIN)
    others = module.log(-module.expm1(certain)) - float(np.log(VOCABULARY - 1))
    columns = [logprobs if index == TOKEN else others for index in range(VOCABULARY)]
    return temperature * module.stack(columns, -1)


def around(logprobs: object, mask: object, prompt: int) -> dict[str, object]:
    """Rows of a prompt of so many tokens and completions, by role, for a loss that calls a model itself."""
    module = _module(logprobs)
    rows, tokens = logprobs.shape  # type: ignore[attr-defined]  # an array
    before, completion = module.full((rows, prompt), PROMPT), module.full((rows, tokens), TOKEN)
    found = {
        "prompt_ids": before, "prompt_mask": module.ones_like(before), "completion_ids": completion,
        "sequence_ids": _joined(before, completion), "completion_tokens": tokens,
    }  # fmt: skip
    if mask is not None:
        found["sequence_mask"] = _joined(*[mask[:, :1] * 0 + 1] * prompt, mask)  # type: ignore[index]  # an array
    return found


def widened(value: object) -> object:
    """An array [B,T] of tokens with a column for the prompt before it."""
    return _joined(value[:, :1] * 0, value)  # type: ignore[index]  # an array


def _joined(*parts: object) -> object:
    module = _module(parts[0])
    return module.cat(parts, 1) if hasattr(module, "cat") else module.concatenate(parts, 1)


def _module(value: object) -> ModuleType:
    """The library whose array it is, torch or numpy: both have the functions that are used here."""
    return sys.modules[type(value).__module__.partition(".")[0]]
