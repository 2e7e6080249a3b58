"""RLOO (Ahmadian et al. 2024) in numpy: every sample against the mean of its siblings."""

import numpy as np

from rlprobe.verifier.pipeline import Pipeline


def log_softmax(logits):
    top = logits.max(axis=-1, keepdims=True)
    return logits - top - np.log(np.exp(logits - top).sum(axis=-1, keepdims=True))


def token_logps(logits, input_ids, temperature=1.0):
    scaled = log_softmax(logits[:, :-1] / temperature)
    targets = input_ids[:, 1:]
    return np.take_along_axis(scaled, targets[..., None], axis=-1)[..., 0]


def token_entropy(logits):
    logp = log_softmax(logits)
    return -(np.exp(logp) * logp).sum(axis=-1)


def rloo_advantages(rewards, rloo_k):
    grouped = np.asarray(rewards).reshape(-1, rloo_k)
    baseline = (grouped.sum(axis=1, keepdims=True) - grouped) / (rloo_k - 1)
    return (grouped - baseline).reshape(-1)


def make():
    return Pipeline(
        logprobs=token_logps, entropy=token_entropy, advantages=rloo_advantages, declare={"algorithm": "rloo"}
    )
