"""A loss of an experience with attributes and of settings, log-probs by a model that is handed over."""

import torch

from rlprobe.verifier.pipeline import Pipeline


def actor_loss(action_log_probs, experience, cfg):
    drift = action_log_probs - experience.old_action_log_probs
    ratio = drift.exp()
    bounded = ratio.clamp(1 - cfg.eps_clip, 1 + cfg.eps_clip)
    token = -torch.min(ratio * experience.advantages, bounded * experience.advantages)
    return (token * experience.action_mask).sum() / experience.action_mask.sum()


def sequence_logps(policy_model, sequences, attention_mask, temp):
    output = policy_model(sequences, attention_mask=attention_mask)
    logits = output["logits"][:, :-1] / temp
    return torch.log_softmax(logits, dim=-1).gather(-1, sequences[:, 1:, None])[..., 0]


def make():
    config = {"eps_clip": 0.15}
    declare = {"algorithm": "ppo", "aggregation": "token_mean"}
    return Pipeline(loss=actor_loss, logprobs=sequence_logps, config=config, declare=declare)
