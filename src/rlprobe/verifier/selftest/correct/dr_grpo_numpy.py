"""Dr. GRPO (Liu et al. 2025) in numpy: rewards [prompts, generations] minus the row's mean, no division."""

import numpy as np

from rlprobe.verifier.pipeline import Pipeline


def compute_advantages(rewards):
    return rewards - rewards.mean(axis=1, keepdims=True)


def logprobs(logits, labels):
    shifted = logits - logits.max(-1, keepdims=True)
    normalizer = np.log(np.exp(shifted).sum(-1))
    rows, tokens = labels.shape
    picked = shifted[np.arange(rows)[:, None], np.arange(tokens)[None, :], labels]
    return picked - normalizer


def make():
    return Pipeline(advantages=compute_advantages, logprobs=logprobs, declare={"algorithm": "dr_grpo"})
