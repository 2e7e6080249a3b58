"""REINFORCE++ (Hu 2025) in numpy: rewards normalised over the whole batch, no groups."""

import numpy as np

from rlprobe.verifier.pipeline import Pipeline


def advantages(rewards):
    mean = np.mean(rewards)
    std = np.std(rewards)
    return (rewards - mean) / (std + 1e-8)


def whiten(values, mask, shift_mean=True):
    count = mask.sum()
    mean = (values * mask).sum() / count
    variance = (((values - mean) ** 2) * mask).sum() / count
    result = (values - mean) / np.sqrt(variance + 1e-8)
    if not shift_mean:
        result = result + mean
    return result * mask


def make():
    return Pipeline(advantages=advantages, whiten=whiten, declare={"algorithm": "reinforce++"})
