"""Log-probs and entropies the slow, obvious way: one position after the other, in float64."""

import numpy as np

from rlprobe.recording.run import BoolArray, FloatArray, IntArray


def log_softmax(logits: FloatArray) -> FloatArray:
    """Natural logarithms of the softmax over the last axis."""
    top = logits.max(axis=-1, keepdims=True)
    return np.asarray(logits - top - np.log(np.exp(logits - top).sum(axis=-1, keepdims=True)))


def chosen(logits: FloatArray, ids: IntArray, temperature: float = 1.0) -> FloatArray:
    """Log-probs [B,T] of ids[b,t] under logits[b,t] / temperature: nothing is shifted."""
    result = np.zeros(ids.shape)
    for row in range(ids.shape[0]):
        for token in range(ids.shape[1]):
            result[row, token] = log_softmax(logits[row, token] / temperature)[ids[row, token]]
    return result


def entropy(logits: FloatArray) -> FloatArray:
    """Entropies [B,T] in nats."""
    logp = log_softmax(logits)
    return np.asarray(-(np.exp(logp) * logp).sum(axis=-1))


def means(values: FloatArray, mask: BoolArray) -> dict[str, float]:
    """The usual ways to make one number of values [B,T] over a mask, by name."""
    counts = mask.sum(axis=1)
    by_row = (values * mask).sum(axis=1)
    return {
        "mean over tokens": float(by_row.sum() / counts.sum()),
        "mean of row means": float((by_row / np.maximum(counts, 1)).mean()),
        "mean of row sums": float(by_row.mean()),
        "sum over tokens": float(by_row.sum()),
    }
