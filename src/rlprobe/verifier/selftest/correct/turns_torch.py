"""Several turns with a tool: its tokens have a mask of their own, and groups are keys of a dict."""

import torch

from rlprobe.verifier.pipeline import Pipeline


def by_question(rewards, uids):
    members = {}
    for place, uid in enumerate(uids):
        members.setdefault(uid, []).append(place)
    found = torch.zeros_like(rewards)
    for places in members.values():
        own = rewards[places]
        found[places] = own - own.mean()
    return found


def turn_loss(new_logps, rollout_logps, advantages, response_mask, env_mask):
    learnt = response_mask * (1 - env_mask)
    ratio = torch.exp(new_logps - rollout_logps)
    gain = torch.minimum(ratio * advantages[:, None], ratio.clamp(0.8, 1.25) * advantages[:, None])
    return -(gain * learnt).sum() / learnt.sum().clamp(min=1)


def make():
    return Pipeline(
        advantages=by_question,
        loss=turn_loss,
        declare={"algorithm": "dr_grpo", "clip_low": 0.2, "clip_high": 0.25, "aggregation": "token_mean"},
    )
