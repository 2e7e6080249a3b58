"""The sampler: writes completions token by token, in its own precision, as an inference engine does."""

from dataclasses import dataclass

import numpy as np

from rlprobe.lab import vocabulary
from rlprobe.lab.policy import POSITIONS, PROMPT, WINDOW, BoolArray, FloatArray, Generator, Weights, features
from rlprobe.lab.vocabulary import EOS, IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How completions are drawn.

    Attributes:
        cap: most tokens a completion may have.
        temperature: what the logits are divided by.
        top_k: how many tokens stay eligible; 0 keeps all.
        blocked: tokens that are never written.
        weight_bits: bits of mantissa of the sampler's weights.
        shared_draws: whether the samples of a group are drawn with the same random numbers.
    """

    cap: int = 16
    temperature: float = 1.0
    top_k: int = 0
    blocked: tuple[int, ...] = ()
    weight_bits: int = 11
    shared_draws: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Completions:
    """What was written.

    Attributes:
        tokens: (batch, longest) tokens; the end token fills the rest of a row.
        lengths: (batch,) tokens written, the end token included.
        ended: (batch,) whether the end token was written.
        logprobs: (batch, longest) log-prob of each token under the distribution it was drawn from.
    """

    tokens: IntArray
    lengths: IntArray
    ended: BoolArray
    logprobs: FloatArray

    @property
    def mask(self) -> BoolArray:
        """(batch, longest) whether a position was written."""
        return np.asarray(np.arange(self.tokens.shape[1]) < self.lengths[:, None])


def rounded(values: FloatArray, bits: int) -> FloatArray:
    """Values with a mantissa of so many bits."""
    mantissa, exponent = np.frexp(values)
    return np.asarray(np.ldexp(np.round(mantissa * 2.0**bits) * 2.0**-bits, exponent))


def sample(weights: Weights, prompts: IntArray, rng: Generator, how: Sampling, *, group_size: int) -> Completions:
    """Draw one completion for each of (batch, PROMPT) prompts."""
    batch = len(prompts)
    draws = rng.random((batch, how.cap))
    if how.shared_draws:
        draws = np.repeat(draws[::group_size], group_size, axis=0)[:batch]
    engine = {name: rounded(values, how.weight_bits) for name, values in weights.items()}
    tokens = np.full((batch, how.cap), EOS, dtype=np.int64)
    logprobs = np.zeros((batch, how.cap))
    lengths = np.zeros(batch, dtype=np.int64)
    start = features(prompts, tokens[:, :1])[:, 0]
    prompt_part = engine["inputs"][start[:, :PROMPT]].sum(axis=1) + engine["first_bias"]
    window = start[:, PROMPT:-1].copy()
    slots = window[0] - vocabulary.SIZE  # the window starts empty, so this is each slot's offset
    alive = np.arange(batch)
    for position in range(how.cap):
        state = prompt_part[alive] + engine["inputs"][start[0, -1] + min(position, POSITIONS - 1)]
        for slot in range(WINDOW):
            state += engine["inputs"][window[alive, slot]]
        second = np.tanh(np.tanh(state) @ engine["middle"] + engine["second_bias"])
        logits = second @ engine["head"] + engine["head_bias"]
        chosen, logprob = _draw(logits, draws[alive, position], how)
        tokens[alive, position], logprobs[alive, position] = chosen, logprob
        lengths[alive] += 1
        window[alive, 1:] = window[alive, :-1] - slots[:-1] + slots[1:]
        window[alive, 0] = slots[0] + chosen
        alive = alive[chosen != EOS]
        if len(alive) == 0:
            break
    longest = int(lengths.max())
    ended = tokens[np.arange(batch), lengths - 1] == EOS
    return Completions(tokens=tokens[:, :longest], lengths=lengths, ended=ended, logprobs=logprobs[:, :longest])


def _draw(logits: FloatArray, draws: FloatArray, how: Sampling) -> tuple[IntArray, FloatArray]:
    """(n,) tokens and their log-probs; a row of NaN gives token 0, as engines do."""
    for token in how.blocked:
        logits[:, token] = -np.inf
    if how.top_k:
        smallest = np.partition(logits, -how.top_k, axis=1)[:, -how.top_k, None]
        logits = np.where(logits < smallest, -np.inf, logits)
    scaled = logits / how.temperature
    odds = np.exp(scaled - scaled.max(axis=1, keepdims=True))
    total = odds.cumsum(axis=1)
    chosen = (total < draws[:, None] * total[:, -1:]).sum(axis=1)
    rows = np.arange(len(chosen))
    with np.errstate(divide="ignore"):
        return chosen, np.log(odds[rows, chosen] / total[:, -1])
