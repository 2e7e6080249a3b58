"""The loss of DAPO in numpy: higher clip above than below, one mean over all tokens, no KL."""

import numpy as np

from rlprobe.verifier.pipeline import Pipeline

CLIP_LOW, CLIP_HIGH = 0.2, 0.28


def loss(log_probs, old_log_probs, advantages, response_mask):
    response_mask = response_mask.astype(float)
    ratio = np.exp(log_probs - old_log_probs)
    advantages = advantages.reshape(-1, 1)
    losses = np.maximum(-advantages * ratio, -advantages * np.clip(ratio, 1 - CLIP_LOW, 1 + CLIP_HIGH))
    return np.sum(losses * response_mask) / max(np.sum(response_mask), 1.0)


def make():
    return Pipeline(loss=loss, declare={"algorithm": "dapo", "clip_low": CLIP_LOW, "clip_high": CLIP_HIGH})
