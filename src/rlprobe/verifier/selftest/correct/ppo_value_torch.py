"""PPO (2017) with an entropy bonus and a clipped value loss; advantages one a token."""

import torch

from rlprobe.verifier.pipeline import Pipeline


def masked_mean(values, mask):
    return (values * mask).sum() / mask.sum().clamp(min=1)


class PPO:
    def __init__(self, clip, value_clip, entropy_coef):
        self.clip, self.value_clip, self.entropy_coef = clip, value_clip, entropy_coef

    def policy_loss(self, logprobs, old_logprobs, advantages, mask, entropy):
        if advantages.dim() == 1:
            advantages = advantages.unsqueeze(1).expand_as(logprobs)
        ratio = torch.exp(logprobs - old_logprobs)
        first = -advantages * ratio
        second = -advantages * torch.clamp(ratio, 1.0 - self.clip, 1.0 + self.clip)
        policy = masked_mean(torch.max(first, second), mask)
        return policy - self.entropy_coef * masked_mean(entropy, mask)

    def value_loss(self, values, old_values, returns, mask):
        bounded = old_values + (values - old_values).clamp(-self.value_clip, self.value_clip)
        plain = (values - returns) ** 2
        other = (bounded - returns) ** 2
        return 0.5 * masked_mean(torch.max(plain, other), mask)


def make():
    ppo = PPO(clip=0.2, value_clip=0.3, entropy_coef=0.01)
    return Pipeline(
        loss=ppo.policy_loss,
        value_loss=ppo.value_loss,
        declare={
            "algorithm": "ppo",
            "cliprange": 0.2,
            "cliprange_value": 0.3,
            "entropy_coef": 0.01,
            "aggregation": "token_mean",
        },
    )
