"""Valid inputs by role, drawn from a seed: what every check starts from."""

from dataclasses import dataclass

import numpy as np

from rlprobe.recording.run import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class LossInput:
    """Arguments of a policy loss: B rows, T tokens; advantages one a row; mask true where the loss looks."""

    logprobs: FloatArray
    old_logprobs: FloatArray
    ref_logprobs: FloatArray
    advantages: FloatArray
    mask: BoolArray

    def values(self) -> dict[str, object]:
        """By role."""
        return {
            name: getattr(self, name) for name in ("logprobs", "old_logprobs", "advantages", "mask", "ref_logprobs")
        }


def logits(rng: np.random.Generator, rows: int = 2, tokens: int = 5, vocabulary: int = 7) -> FloatArray:
    """Standard normal logits times 2, [B,T,V]."""
    return rng.normal(size=(rows, tokens, vocabulary)) * 2.0


def token_ids(rng: np.random.Generator, rows: int = 2, tokens: int = 5, vocabulary: int = 7) -> IntArray:
    """Uniform token ids, [B,T]."""
    return rng.integers(0, vocabulary, size=(rows, tokens))


def rewards(rng: np.random.Generator, groups: int = 3, group_size: int = 4) -> FloatArray:
    """Varied rewards, no two equal, [groups * group_size], groups contiguous."""
    return rng.permutation(groups * group_size).astype(np.float64) / 10.0 + rng.normal(size=groups * group_size) * 0.01


def mask(lengths: list[int], tokens: int) -> BoolArray:
    """Right-padded mask [B,T] of rows with these lengths."""
    return np.arange(tokens)[None, :] < np.asarray(lengths)[:, None]


def loss_input(
    rng: np.random.Generator,
    *,
    lengths: tuple[int, ...] = (6, 3, 5, 2),
    tokens: int = 6,
    on_policy: bool = False,
    spread: float = 0.05,
) -> LossInput:
    """Log-probs between -3 and -0.5; old and reference within `spread` of them; both signs of advantage.

    Ratios stay inside every usual clip range with the default spread, so that no branch but the plain one is met.
    """
    rows = len(lengths)
    logprobs = rng.uniform(-3.0, -0.5, size=(rows, tokens))
    drift = 0.0 if on_policy else spread
    advantages = np.where(np.arange(rows) % 2 == 0, 1.0, -1.0) * rng.uniform(0.5, 1.5, size=rows)
    return LossInput(
        logprobs=logprobs,
        old_logprobs=logprobs - drift * rng.uniform(-1, 1, size=logprobs.shape),
        ref_logprobs=logprobs - drift * rng.uniform(-1, 1, size=logprobs.shape),
        advantages=advantages,
        mask=mask(list(lengths), tokens),
    )
