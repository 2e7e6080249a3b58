"""A step of two inner updates over micro-batches: gradients add up, and each row counts by the tokens of the batch."""

import copy

import torch
from torch import nn

from rlprobe.verifier.pipeline import Pipeline

VOCABULARY = 13


class TinyLM(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, width)
        self.mix = nn.GRU(width, width, batch_first=True)
        self.head = nn.Linear(width, VOCABULARY, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, input_ids):
        return self.head(self.mix(self.tokens(input_ids))[0])


def get_logps(model, input_ids, logits_to_keep):
    logits = model(input_ids)[:, :-1][:, -logits_to_keep:]
    targets = input_ids[:, -logits_to_keep:].unsqueeze(-1)
    return torch.log_softmax(logits.float(), dim=-1).gather(-1, targets).squeeze(-1)


def training_step(model, optimizer, input_ids, attention_mask, advantages, ref_model, logits_to_keep):
    model.train()
    mask = attention_mask[:, -logits_to_keep:].float()
    with torch.no_grad():
        old = get_logps(model, input_ids, logits_to_keep)
        ref = get_logps(ref_model, input_ids, logits_to_keep)
    for _ in range(2):
        optimizer.zero_grad()
        for rows in torch.arange(len(input_ids)).split(2):
            logps = get_logps(model, input_ids[rows], logits_to_keep)
            ratio = (logps - old[rows]).exp()
            advantage = advantages[rows, None]
            per_token = -torch.min(ratio * advantage, ratio.clamp(0.8, 1.28) * advantage)
            gap = ref[rows] - logps
            per_token = per_token + 0.01 * (gap.exp() - gap - 1)
            ((per_token * mask[rows]).sum() / mask.sum()).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


def make():
    torch.manual_seed(4)
    model = TinyLM()
    reference = copy.deepcopy(model).eval().requires_grad_(False)
    return Pipeline(
        model=model,
        ref_model=reference,
        score=get_logps,
        optimizer=torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01),
        train_step=training_step,
        declare={"algorithm": "grpo"},
    )
