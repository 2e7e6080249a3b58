"""A small valid input for every slot, with what a first answer must look like: how forms of arrays are found out."""

from collections.abc import Callable, Mapping

import numpy as np

from rlprobe.verifier import inputs
from rlprobe.verifier.arrays import to_numpy

ROWS, TOKENS, VOCABULARY = 4, 6, 7
PAD, EOS = 0, 2


def trial(slot: str) -> tuple[dict[str, object], Callable[[object], bool]]:
    """Arguments by role, and whether an answer has a shape that the slot may have."""
    rng = np.random.default_rng(7)
    return _ARGUMENTS[slot](rng), _ACCEPTS.get(slot, _numbers)


def _logits(rng: np.random.Generator) -> dict[str, object]:
    return {
        "logits": inputs.logits(rng, ROWS, TOKENS, VOCABULARY),
        "ids": inputs.token_ids(rng, ROWS, TOKENS, VOCABULARY),
        "mask": np.ones((ROWS, TOKENS), dtype=bool),
    }


def _loss(rng: np.random.Generator) -> dict[str, object]:
    values = inputs.loss_input(rng).values()
    values["entropy"] = np.full((ROWS, TOKENS), 1.0)
    values.update(beside((ROWS, TOKENS)), sampler_logprobs=values["old_logprobs"])
    values["importance_ratio"] = np.ones((ROWS, TOKENS))
    values["normalizer"] = 16
    values["max_completion_tokens"] = TOKENS
    return values


def beside(shape: tuple[int, ...]) -> dict[str, object]:
    """Neutral arguments of the parts of a loss that are not the policy's: a critic that is right, no tools."""
    zeros = np.zeros(shape)
    return {
        "values": zeros, "old_values": zeros, "returns": zeros, "tool_mask": np.ones(shape, dtype=bool),
        "completion_ids": np.full(shape, 3), "value_coefficient": 0.5, "value_clip": 0.2,
    }  # fmt: skip


def _values(rng: np.random.Generator) -> dict[str, object]:
    shape = (ROWS, TOKENS)
    named: dict[str, object] = {name: rng.normal(size=shape) for name in ("values", "old_values", "returns", "rewards")}
    named.update(mask=inputs.mask([6, 3, 5, 2], TOKENS), truncated=np.zeros(ROWS, dtype=bool))
    named.update(last_values=np.zeros(ROWS), dones=np.zeros(shape, dtype=bool))
    return named


def _preferences(rng: np.random.Generator) -> dict[str, object]:
    names = ("chosen_logprobs", "rejected_logprobs", "ref_chosen_logprobs", "ref_rejected_logprobs")
    return {name: -rng.uniform(5, 20, size=ROWS) for name in names}


def _completion_ids(rng: np.random.Generator) -> dict[str, object]:
    del rng
    ids = np.array([[5, 6, EOS, PAD, PAD], [5, 6, 4, 3, 5], [EOS, PAD, PAD, PAD, PAD]])
    return {"completion_ids": ids, "eos_id": EOS, "pad_id": PAD}


def _pair(rng: np.random.Generator) -> dict[str, object]:
    values = inputs.loss_input(rng).values()
    return {name: values[name] for name in ("logprobs", "ref_logprobs", "mask")}


def _numbers(answer: object) -> bool:
    try:
        return to_numpy(answer).size > 0
    except TypeError:
        return False


def _a_number_a_token(answer: object) -> bool:
    if not _numbers(answer):
        return False
    shape = to_numpy(answer).shape
    return shape[:1] == (ROWS,) and len(shape) == 2 and shape[1] in (TOKENS, TOKENS - 1)


def _same_shape(answer: object) -> bool:
    return _numbers(answer) and to_numpy(answer).shape == (ROWS, TOKENS)


_ARGUMENTS: Mapping[str, Callable[[np.random.Generator], dict[str, object]]] = {
    "logprobs": _logits,
    "entropy": _logits,
    "loss": _loss,
    "gae": _values,
    "whiten": _values,
    "value_loss": _values,
    "dpo_loss": _preferences,
    "completion_mask": _completion_ids,
    "kl": _pair,
}
_ACCEPTS: Mapping[str, Callable[[object], bool]] = {
    "logprobs": _a_number_a_token,
    "gae": _same_shape,
    "whiten": _same_shape,
}
