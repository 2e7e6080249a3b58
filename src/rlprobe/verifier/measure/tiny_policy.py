"""A uniform policy whose completions can all be written down, scored by the user's own log-prob function."""

import itertools
from dataclasses import dataclass

import numpy as np

from rlprobe.recording.run import FloatArray, IntArray
from rlprobe.verifier.function import Function

ANY = (3, 2)  # vocabulary and tokens where the group may have any size: nine completions


@dataclass(frozen=True, slots=True, kw_only=True)
class TinyPolicy:
    """Every completion of `tokens` tokens over `vocabulary` tokens, equally likely.

    Attributes:
        completions: [V^T, T] token ids.
    """

    vocabulary: int
    tokens: int
    completions: IntArray

    def scored(self, function: Function) -> tuple[dict[str, object] | None, FloatArray | None]:
        """Arguments by role and log-probs [V^T, T], whether the function shifts inside or not; None if neither fits."""
        for lead in (0, 1):  # a function that shifts inside is handed one token in front
            ids = np.pad(self.completions, ((0, 0), (lead, 0)))
            values: dict[str, object] = {
                "logits": np.zeros((*ids.shape, self.vocabulary)), "ids": ids, "mask": np.ones(ids.shape, dtype=bool)
            }  # fmt: skip
            own = {role: value for role, value in values.items() if function.takes(role)}
            logprobs = function(**own)
            if logprobs.shape == self.completions.shape:
                return own, logprobs
        return None, None


def tiny_policy(group_size: int | None) -> TinyPolicy:
    """The policy whose completions fill one group of that size exactly; of nine where any size will do."""
    vocabulary, tokens = ANY if group_size is None else _factors(group_size)
    completions = np.array(list(itertools.product(range(vocabulary), repeat=tokens)))
    return TinyPolicy(vocabulary=vocabulary, tokens=tokens, completions=completions)


def _factors(size: int) -> tuple[int, int]:
    for vocabulary in range(2, size + 1):
        tokens = round(np.log(size) / np.log(vocabulary))
        if vocabulary**tokens == size:
            return vocabulary, tokens
    return size, 1
