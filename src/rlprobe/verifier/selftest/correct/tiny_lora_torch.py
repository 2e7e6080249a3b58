"""A frozen base with a low-rank adapter on its head; the reference is a copy; the engine is synchronised after a step."""

import copy

import torch
from torch import nn

from rlprobe.verifier.pipeline import Pipeline

VOCABULARY = 9


class LowRank(nn.Module):
    def __init__(self, base, rank=2):
        super().__init__()
        self.base = base
        self.down = nn.Parameter(torch.randn(rank, base.in_features) * 0.3)
        self.up = nn.Parameter(torch.zeros(base.out_features, rank))

    def forward(self, x):
        return self.base(x) + (x @ self.down.T) @ self.up.T


class Recurrent(nn.Module):
    def __init__(self, width=6):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, width)
        self.mix = nn.Linear(2 * width, width)
        self.head = nn.Linear(width, VOCABULARY)

    def forward(self, input_ids):
        state = torch.zeros(input_ids.shape[0], self.embed.embedding_dim)
        states = []
        for t in range(input_ids.shape[1]):
            state = torch.tanh(self.mix(torch.cat([self.embed(input_ids[:, t]), state], dim=-1)))
            states.append(state)
        return {"logits": self.head(torch.stack(states, dim=1))}


def get_per_token_logps(model, input_ids, attention_mask, logits_to_keep):
    logits = model(input_ids)["logits"]
    logits = logits[:, :-1, :]
    logits = logits[:, -logits_to_keep:]
    index = input_ids[:, -logits_to_keep:]
    selected = logits.gather(-1, index.unsqueeze(-1)).squeeze(-1)
    return selected - torch.logsumexp(logits, dim=-1)


class Engine:
    def __init__(self, model):
        self.weights = copy.deepcopy(model)

    def sync(self, model):
        self.weights.load_state_dict(model.state_dict())

    @torch.no_grad()
    def logprobs(self, ids):
        return get_per_token_logps(self.weights, ids, None, ids.shape[1] - 1)


class Trainer:
    def __init__(self, model, engine):
        self.engine = engine
        self.reference = copy.deepcopy(model).requires_grad_(False)

    def step(self, model, optimizer, input_ids, attention_mask, advantages):
        keep = input_ids.shape[1] - 1
        optimizer.zero_grad()
        logps = get_per_token_logps(model, input_ids, attention_mask, keep)
        with torch.no_grad():
            ref_logps = get_per_token_logps(self.reference, input_ids, attention_mask, keep)
        ratio = torch.exp(logps - logps.detach())
        gap = ref_logps - logps
        per_token = -ratio * advantages[:, None] + 0.01 * (gap.exp() - gap - 1)
        weights = attention_mask[:, 1:].to(per_token.dtype)
        (per_token * weights).sum(1).div(weights.sum(1)).mean().backward()
        optimizer.step()
        self.engine.sync(model)


def make():
    torch.manual_seed(1)
    model = Recurrent()
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    model.head = LowRank(model.head)
    engine = Engine(model)
    trainer = Trainer(model, engine)
    trainable = [parameter for parameter in model.parameters() if parameter.requires_grad]
    return Pipeline(
        model=model,
        ref_model=trainer.reference,
        score=get_per_token_logps,
        optimizer=torch.optim.AdamW(trainable, lr=1e-2),
        train_step=trainer.step,
        engine_logprobs=engine.logprobs,
        declare={"kl_coefficient": 0.01},
    )
