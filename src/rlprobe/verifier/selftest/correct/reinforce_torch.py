"""REINFORCE, on policy: no ratio, no clip; k2 to the reference; a sum over tokens a row."""

import torch

from rlprobe.verifier.pipeline import Pipeline


def whitened(rewards, group_size):
    return (rewards - rewards.mean()) / (rewards.std() + 1e-8)


def reinforce(logprobs, advantages, mask, ref_logprobs, kl_coef=0.05):
    policy = -(logprobs * advantages[:, None])
    penalty = 0.5 * torch.square(logprobs - ref_logprobs)
    return ((policy + kl_coef * penalty) * mask).sum(dim=1).mean()


def make():
    return Pipeline(
        advantages=whitened,
        loss=reinforce,
        declare={
            "algorithm": "reinforce",
            "baseline": "batch",
            "kl_estimator": "k2",
            "kl_coef": 0.05,
            "inner_steps": 1,
        },
    )
