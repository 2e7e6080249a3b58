"""Several completions packed into one row: attention and positions end at each border, borders are not scored."""

import copy

import torch
from torch import nn

from rlprobe.verifier.pipeline import Pipeline

VOCABULARY = 10


class PackedLM(nn.Module):
    def __init__(self, width=8, dropout=0.0):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, width)
        self.positions = nn.Embedding(32, width)
        self.dropout = nn.Dropout(dropout)
        self.query = nn.Linear(width, width, bias=False)
        self.key = nn.Linear(width, width, bias=False)
        self.value = nn.Linear(width, width, bias=False)
        self.norm = nn.LayerNorm(width)

    def forward(self, ids, segments, positions):
        x = self.dropout(self.embed(ids) + self.positions(positions))
        causal = torch.ones(ids.shape[1], ids.shape[1], dtype=torch.bool).tril()
        same = segments[:, :, None] == segments[:, None, :]
        weights = self.query(x) @ self.key(x).transpose(1, 2)
        weights = weights.masked_fill(~(causal & same), float("-inf")).softmax(-1)
        x = self.norm(x + weights @ self.value(x))
        return x @ self.embed.weight.T


def restart(segments):
    index = torch.arange(segments.shape[1]).expand_as(segments)
    new = torch.ones_like(segments, dtype=torch.bool)
    new[:, 1:] = segments[:, 1:] != segments[:, :-1]
    starts = torch.where(new, index, torch.zeros_like(index)).cummax(dim=1).values
    return index - starts


def score(model, ids, segment_ids):
    was_training = model.training
    model.eval()
    logits = model(ids, segment_ids, restart(segment_ids))
    model.train(was_training)
    logp = logits[:, :-1].log_softmax(-1).gather(-1, ids[:, 1:, None]).squeeze(-1)
    same = segment_ids[:, 1:] == segment_ids[:, :-1]
    return torch.where(same, logp, torch.zeros_like(logp))


def make():
    torch.manual_seed(2)
    model = PackedLM()
    reference = copy.deepcopy(model).eval()
    return Pipeline(
        model=model,
        ref_model=reference,
        score=score,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
    )
