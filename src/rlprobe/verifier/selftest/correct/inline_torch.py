"""A loss that calls the model itself on prompt and completion, and finds the rest in a batch."""

import torch

from rlprobe.verifier.pipeline import Pipeline


class Trainer:
    beta, low, high = 0.05, 0.2, 0.3

    def scores(self, model, ids, mask, count):
        logits = model(input_ids=ids, attention_mask=mask).logits
        logits = logits[:, :-1, :][:, -count:]
        picked = ids[:, -count:].unsqueeze(-1)
        return logits.log_softmax(dim=-1).gather(-1, picked).squeeze(-1)

    def compute_loss(self, model, inputs):
        ids = torch.cat((inputs["prompt_ids"], inputs["completion_ids"]), dim=1)
        seen = torch.cat((inputs["prompt_mask"], inputs["completion_mask"]), dim=1)
        mask, advantages = inputs["completion_mask"], inputs["advantages"][:, None]
        logps = self.scores(model, ids, seen, mask.shape[1])
        ratio = torch.exp(logps - inputs["old_per_token_logps"])
        bounded = torch.clamp(ratio, 1 - self.low, 1 + self.high)
        apart = inputs["ref_per_token_logps"] - logps
        token = -torch.min(ratio * advantages, bounded * advantages) + self.beta * (apart.exp() - apart - 1)
        return ((token * mask).sum(dim=1) / mask.sum(dim=1).clamp(min=1)).mean()


def make():
    declare = {"algorithm": "grpo", "clip_low": 0.2, "clip_high": 0.3, "beta": 0.05, "kl_estimator": "k3"}
    return Pipeline(loss=Trainer().compute_loss, declare={**declare, "aggregation": "sequence_mean"})
