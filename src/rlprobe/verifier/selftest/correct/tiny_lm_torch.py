"""A causal language model with absolute positions and left-padded prompts, its frozen copy, two inner steps a rollout."""

import copy

import torch
from torch import nn

from rlprobe.verifier.pipeline import Pipeline

VOCABULARY = 11
LONGEST = 16
INNER_STEPS = 2


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)
        self.norm = nn.LayerNorm(width)
        self.drop = nn.Dropout(0.0)

    def forward(self, x, allowed):
        q, k, v = self.qkv(self.norm(x)).chunk(3, dim=-1)
        weights = (q @ k.transpose(1, 2)) / x.shape[-1] ** 0.5
        weights = weights.masked_fill(~allowed, -1e9).softmax(dim=-1)
        x = x + self.out(weights @ v)
        return x + self.drop(self.down(torch.tanh(self.up(x))))


class TinyLM(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, width)
        self.places = nn.Embedding(LONGEST, width)
        self.block = Block(width)
        self.head = nn.Linear(width, VOCABULARY)

    def forward(self, input_ids, attention_mask=None, position_ids=None):
        rows, length = input_ids.shape
        if attention_mask is None:
            attention_mask = torch.ones_like(input_ids)
        if position_ids is None:
            position_ids = torch.arange(length).expand(rows, length)
        causal = torch.ones(length, length, dtype=torch.bool).tril()
        allowed = causal[None] & attention_mask.bool()[:, None, :]
        x = self.tokens(input_ids) + self.places(position_ids)
        return self.head(self.block(x, allowed))


def score(model, input_ids, attention_mask, temperature=1.0):
    position_ids = (attention_mask.long().cumsum(dim=1) - 1).clamp(min=0)
    logits = model(input_ids, attention_mask=attention_mask, position_ids=position_ids)
    logits = logits[:, :-1] / temperature
    targets = input_ids[:, 1:]
    logp = torch.log_softmax(logits, dim=-1)
    return torch.gather(logp, dim=2, index=targets.unsqueeze(2)).squeeze(2)


def kl(logprobs, ref_logprobs):
    difference = ref_logprobs - logprobs
    return difference.exp() - difference - 1


def loss(logprobs, old_logprobs, advantages, mask, ref_logprobs, beta=0.04):
    ratio = torch.exp(logprobs - old_logprobs)
    adv = advantages.unsqueeze(1)
    surrogate = torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv)
    per_token = -surrogate + beta * kl(logprobs, ref_logprobs)
    mask = mask.to(per_token.dtype)
    return (per_token * mask).sum() / mask.sum()


def train_step(model, optimizer, ids, mask, advantages, ref_model):
    model.train()
    with torch.no_grad():
        old_logprobs = score(model, ids, mask)
        ref_logprobs = score(ref_model, ids, mask)
    for _ in range(INNER_STEPS):
        optimizer.zero_grad()
        logprobs = score(model, ids, mask)
        value = loss(logprobs, old_logprobs, advantages, mask[:, 1:], ref_logprobs)
        value.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return value.item()


def build():
    torch.manual_seed(0)
    model = TinyLM()
    reference = copy.deepcopy(model)
    reference.eval()
    for parameter in reference.parameters():
        parameter.requires_grad_(False)
    return model, reference


def make():
    model, reference = build()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    return Pipeline(
        model=model,
        ref_model=reference,
        score=score,
        kl=kl,
        loss=loss,
        optimizer=optimizer,
        train_step=train_step,
        declare={"pad_side": "left", "inner_steps": INNER_STEPS},
    )
