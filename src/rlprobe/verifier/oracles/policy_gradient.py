"""The exact gradient of the expected reward of a uniform policy, by summing over every completion."""

import numpy as np

from rlprobe.recording.run import FloatArray, IntArray


def exact(completions: IntArray, rewards: FloatArray, vocabulary: int) -> FloatArray:
    """Gradient [T,V] of sum over completions of probability times reward, by the logits of each position.

    Args:
        completions: [V^T, T], every completion once; each has the same probability.
        rewards: [V^T].
        vocabulary: V.
    """
    count, tokens = completions.shape
    gradient = np.zeros((tokens, vocabulary))
    uniform = np.full(vocabulary, 1.0 / vocabulary)
    for completion, reward in zip(completions, rewards, strict=True):
        for position, token in enumerate(completion):
            gradient[position] += reward / count * (np.eye(vocabulary)[token] - uniform)
    return gradient
