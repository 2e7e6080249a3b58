"""The loss of GRPO in numpy, without gradients, with its settings as arguments."""

import numpy as np

from rlprobe.verifier.pipeline import Pipeline


def kl(logprobs, ref_logprobs):
    difference = ref_logprobs - logprobs
    return np.exp(difference) - difference - 1.0


def kl_of_row(logprobs, ref_logprobs):
    return np.array(
        [[np.exp(r - p) - (r - p) - 1.0 for p, r in zip(one, other)] for one, other in zip(logprobs, ref_logprobs)]
    )


def loss(logprobs, old_logprobs, advantages, mask, ref_logprobs, epsilon=0.2, beta=0.04):
    ratio = np.exp(logprobs - old_logprobs)
    surrogate = ratio * advantages[:, None]
    bounded = np.clip(ratio, 1.0 - epsilon, 1.0 + epsilon) * advantages[:, None]
    per_token = beta * kl(logprobs, ref_logprobs) - np.minimum(surrogate, bounded)
    weights = mask / np.maximum(mask.sum(axis=1, keepdims=True), 1)
    return (per_token * weights).sum(axis=1).mean()


def make():
    return Pipeline(
        kl=kl, loss=loss, declare={"algorithm": "grpo", "epsilon": 0.2, "beta": 0.04}, alternatives={"kl": kl_of_row}
    )
