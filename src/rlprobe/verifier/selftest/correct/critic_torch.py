"""One loss for policy and critic, advantages by a method that is told the number of tokens."""

import torch

from rlprobe.verifier.pipeline import Pipeline


class Heads:
    gamma, lam, ratio_range, value_range, critic_weight = 1.0, 0.9, 0.2, 0.3, 0.25

    def estimate(self, state_values, token_rewards, gen_len):
        carried, found = torch.zeros_like(state_values[:, 0]), []
        for t in range(gen_len - 1, -1, -1):
            following = state_values[:, t + 1] if t + 1 < gen_len else torch.zeros_like(carried)
            surprise = token_rewards[:, t] + self.gamma * following - state_values[:, t]
            carried = surprise + self.gamma * self.lam * carried
            found.insert(0, carried)
        advantages = torch.stack(found, dim=1)
        return advantages, advantages + state_values

    def objective(self, cur_logps, prev_logps, advs, cur_values, prev_values, value_targets, keep_mask):
        ratio = (cur_logps - prev_logps).exp()
        bounded = ratio.clamp(1 - self.ratio_range, 1 + self.ratio_range)
        actor = torch.maximum(-advs * ratio, -advs * bounded)
        near = prev_values + (cur_values - prev_values).clamp(-self.value_range, self.value_range)
        critic = torch.maximum((cur_values - value_targets).square(), (near - value_targets).square())
        return ((actor + self.critic_weight * critic) * keep_mask).sum() / keep_mask.sum()


def make():
    heads = Heads()
    declare = {"algorithm": "ppo", "clip": 0.2, "value_clip": 0.3, "lam": 0.9, "aggregation": "token_mean"}
    return Pipeline(gae=heads.estimate, loss=heads.objective, declare=declare)
