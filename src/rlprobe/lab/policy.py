"""The policy: an autoregressive network over a small vocabulary, with its backward pass written out.

The next token depends on the whole prompt, on the last `WINDOW` tokens of the completion and on the position. Each of
them picks one row of the first weight matrix (a one-hot input); two tanh layers and a linear head follow. Rows are
independent given their features, so all tokens of a batch go through as one matrix.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rlprobe.lab import vocabulary
from rlprobe.lab.vocabulary import IntArray

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
Weights = dict[str, FloatArray]
Generator = np.random.Generator

PROMPT = 4  # tokens of a prompt
WINDOW = 4  # completion tokens that the policy sees
POSITIONS = 48  # positions told apart; later ones share the last
_PAD = vocabulary.SIZE  # fills the window before the first token
OFFSETS = np.concatenate(
    [
        np.arange(PROMPT) * vocabulary.SIZE,
        PROMPT * vocabulary.SIZE + np.arange(WINDOW + 1) * (vocabulary.SIZE + 1),
    ]
)
FEATURES = int(OFFSETS[-1]) + POSITIONS


@dataclass(frozen=True, slots=True, kw_only=True)
class Activations:
    """What a forward pass keeps for its backward pass: (n, slots) features, (n, hidden) layers, (n, outputs)."""

    features: IntArray
    first: FloatArray
    second: FloatArray
    outputs: FloatArray


def initial(rng: Generator, *, hidden: int, outputs: int = vocabulary.SIZE) -> Weights:
    """Random starting weights; the head starts at zero, so the first distribution is uniform."""
    return {
        "inputs": rng.normal(0.0, 0.35, (FEATURES, hidden)),
        "first_bias": np.zeros(hidden),
        "middle": rng.normal(0.0, hidden**-0.5, (hidden, hidden)),
        "second_bias": np.zeros(hidden),
        "head": np.zeros((hidden, outputs)),
        "head_bias": np.zeros(outputs),
    }


def features(prompts: IntArray, completions: IntArray) -> IntArray:
    """(batch, length, slots) rows of the first matrix that each position of each completion picks.

    Args:
        prompts: (batch, PROMPT) tokens.
        completions: (batch, length) tokens; position t sees those before t.
    """
    batch, length = completions.shape
    picked = np.empty((batch, length, PROMPT + WINDOW + 1), dtype=np.int64)
    picked[:, :, :PROMPT] = prompts[:, None, :]
    for back in range(1, WINDOW + 1):
        slot = PROMPT + back - 1
        picked[:, :back, slot] = _PAD
        picked[:, back:, slot] = completions[:, : max(length - back, 0)]
    picked[:, :, -1] = np.minimum(np.arange(length), POSITIONS - 1)
    return np.asarray(picked + OFFSETS)


def forward(weights: Weights, rows: IntArray) -> Activations:
    """Outputs of (n, slots) rows of features."""
    gathered = weights["inputs"][rows[:, 0]]
    for slot in range(1, rows.shape[1]):
        gathered += weights["inputs"][rows[:, slot]]
    first = np.tanh(gathered + weights["first_bias"])
    second = np.tanh(first @ weights["middle"] + weights["second_bias"])
    return Activations(
        features=rows, first=first, second=second, outputs=second @ weights["head"] + weights["head_bias"]
    )


def backward(weights: Weights, kept: Activations, d_outputs: FloatArray) -> Weights:
    """Gradient of a scalar by every weight, from its (n, outputs) gradient by the outputs."""
    d_second = (d_outputs @ weights["head"].T) * (1.0 - kept.second**2)
    d_first = (d_second @ weights["middle"].T) * (1.0 - kept.first**2)
    hot = np.zeros((len(kept.features), FEATURES))
    hot[np.arange(len(hot))[:, None], kept.features] = 1.0
    return {
        "inputs": hot.T @ d_first,
        "first_bias": d_first.sum(axis=0),
        "middle": kept.first.T @ d_second,
        "second_bias": d_second.sum(axis=0),
        "head": kept.second.T @ d_outputs,
        "head_bias": d_outputs.sum(axis=0),
    }


def log_softmax(logits: FloatArray) -> FloatArray:
    """Log-probabilities along the last axis."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """A forward pass read as a distribution over tokens at a temperature.

    Attributes:
        kept: the forward pass.
        tokens: (n,) the tokens that were written.
        logprobs: (n,) natural log-prob of those tokens.
        entropy: (n,) entropy of the distribution, in nats.
        distribution: (n, vocabulary) log-probs.
        temperature: what the logits were divided by.
    """

    kept: Activations
    tokens: IntArray
    logprobs: FloatArray
    entropy: FloatArray
    distribution: FloatArray
    temperature: float


def score(weights: Weights, rows: IntArray, tokens: IntArray, *, temperature: float) -> Scored:
    """Log-probs and entropy of written tokens, given (n, slots) features and (n,) tokens."""
    kept = forward(weights, rows)
    distribution = log_softmax(kept.outputs / temperature)
    return Scored(
        kept=kept,
        tokens=tokens,
        logprobs=distribution[np.arange(len(tokens)), tokens],
        entropy=-(np.exp(distribution) * distribution).sum(axis=1),
        distribution=distribution,
        temperature=temperature,
    )


def gradient(weights: Weights, scored: Scored, d_logprobs: FloatArray, d_entropy: FloatArray) -> Weights:
    """Gradient of a scalar by the weights, from its (n,) gradients by the log-probs and by the entropies.

    With p the distribution and u the scaled logits: d logp(a) / du = onehot(a) - p and dH / du = -p (log p + H).
    """
    probabilities = np.exp(scored.distribution)
    d_scaled = -probabilities * d_logprobs[:, None]
    d_scaled[np.arange(len(d_scaled)), scored.tokens] += d_logprobs
    if d_entropy.any():
        d_scaled -= probabilities * (scored.distribution + scored.entropy[:, None]) * d_entropy[:, None]
    return backward(weights, scored.kept, d_scaled / scored.temperature)
