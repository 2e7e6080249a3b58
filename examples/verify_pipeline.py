"""A small GRPO pipeline in numpy, held to the invariants: `rlprobe verify examples/verify_pipeline.py::make`.

`make_wrong` has the baseline on the wrong side: `rlprobe verify examples/verify_pipeline.py::make_wrong` finds it.
"""

import re

import numpy as np

from rlprobe import Pipeline


def reward(completions: list[str], answer: list[str]) -> list[float]:
    """1 for the right number in a box, else 0."""
    found = [re.findall(r"\\boxed\{(.*?)\}", completion) for completion in completions]
    return [float(bool(boxes) and boxes[-1] == right) for boxes, right in zip(found, answer, strict=True)]


def advantages(rewards: np.ndarray, group_size: int) -> np.ndarray:
    """Rewards against their group's mean, in units of its standard deviation."""
    groups = rewards.reshape(-1, group_size)
    centred = groups - groups.mean(axis=1, keepdims=True)
    return (centred / (groups.std(axis=1, ddof=1, keepdims=True) + 1e-4)).reshape(-1)


def wrong_advantages(rewards: np.ndarray, group_size: int) -> np.ndarray:
    """The same with the sign lost."""
    groups = rewards.reshape(-1, group_size)
    centred = groups.mean(axis=1, keepdims=True) - groups
    return (centred / (groups.std(axis=1, ddof=1, keepdims=True) + 1e-4)).reshape(-1)


def logprobs(logits: np.ndarray, ids: np.ndarray, temperature: float = 1.0) -> np.ndarray:
    """Log-softmax of the scaled logits at the token ids."""
    scaled = logits / temperature
    scaled = scaled - scaled.max(axis=-1, keepdims=True)
    normalised = scaled - np.log(np.exp(scaled).sum(axis=-1, keepdims=True))
    return np.take_along_axis(normalised, ids[..., None], axis=-1)[..., 0]


def loss(logprobs: np.ndarray, old_logprobs: np.ndarray, advantages: np.ndarray, mask: np.ndarray) -> float:
    """Clipped policy loss, mean over the completions' tokens."""
    ratio = np.exp(logprobs - old_logprobs)
    weighted = np.minimum(ratio * advantages[:, None], np.clip(ratio, 0.8, 1.2) * advantages[:, None])
    return float(-(weighted * mask).sum() / max(mask.sum(), 1))


def make() -> Pipeline:
    """The pipeline as it should be."""
    return Pipeline(
        reward=reward,
        advantages=advantages,
        logprobs=logprobs,
        loss=loss,
        dataset=[{"prompt": "6 times 7?", "answer": "42", "completion": r"It is \boxed{42}"}],
        declare={"algorithm": "grpo", "clip": 0.2, "aggregation": "token_mean"},
    )


def make_wrong() -> Pipeline:
    """The same with `wrong_advantages`."""
    return Pipeline(advantages=wrong_advantages, loss=loss, declare={"algorithm": "grpo", "clip": 0.2})
