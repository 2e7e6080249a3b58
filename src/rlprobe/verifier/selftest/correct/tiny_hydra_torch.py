"""A frozen trunk shared by policy and reference, a head for each; old log-probs come with the rollout; three epochs."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

from rlprobe.verifier.pipeline import Pipeline

VOCABULARY = 8
EPOCHS = 3


class Trunk(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, width)
        self.decay = nn.Parameter(torch.tensor(0.5))

    def forward(self, ids):
        x = self.embed(ids)
        state, states = torch.zeros_like(x[:, 0]), []
        for t in range(ids.shape[1]):
            state = self.decay * state + x[:, t]
            states.append(state)
        return torch.stack(states, dim=1)


class Policy(nn.Module):
    def __init__(self, trunk, width=6):
        super().__init__()
        self.trunk = trunk
        self.hidden = nn.Linear(width, width)
        self.dropout = nn.Dropout(0.0)
        self.head = nn.Linear(width, VOCABULARY, bias=False)
        self.value = nn.Linear(width, 1)

    def forward(self, ids):
        x = self.dropout(torch.relu(self.hidden(self.trunk(ids))))
        return self.head(x), self.value(x).squeeze(-1)


def sequence_logps(policy, input_ids, attention_mask):
    logits, _ = policy(input_ids)
    logps = F.log_softmax(logits[:, :-1], dim=-1)
    logps = logps.gather(-1, input_ids[:, 1:].unsqueeze(-1)).squeeze(-1)
    return F.pad(logps, (1, 0)) * attention_mask


def policy_loss(logps, old_logps, advantages, response_mask, ref_logps):
    ratio = (logps - old_logps).exp()
    surrogate = torch.minimum(ratio * advantages[:, None], ratio.clamp(0.8, 1.28) * advantages[:, None])
    penalty = 0.05 * (logps - ref_logps)
    return ((penalty - surrogate) * response_mask).sum() / response_mask.sum()


def make_step(reference):
    def update(policy, optim, input_ids, attention_mask, advantages, old_logps):
        with torch.no_grad():
            ref_logps = sequence_logps(reference, input_ids, attention_mask)
        response_mask = attention_mask.clone()
        response_mask[:, 0] = 0
        for _ in range(EPOCHS):
            logps = sequence_logps(policy, input_ids, attention_mask)
            objective = policy_loss(logps, old_logps, advantages, response_mask, ref_logps)
            objective.backward()
            optim.step()
            optim.zero_grad(set_to_none=True)
        return {"loss": objective.item()}

    return update


def make():
    torch.manual_seed(3)
    trunk = Trunk(6)
    for parameter in trunk.parameters():
        parameter.requires_grad_(False)
    policy = Policy(trunk)
    reference = copy.copy(policy)
    own = {name: copy.deepcopy(child) for name, child in policy._modules.items() if name != "trunk"}
    reference._modules = {"trunk": trunk, **own}
    optim = torch.optim.Adam([p for p in policy.parameters() if p.requires_grad], lr=3e-3)
    return Pipeline(
        model=policy,
        ref_model=reference,
        score=sequence_logps,
        loss=policy_loss,
        optimizer=optim,
        train_step=make_step(reference),
        declare={"inner_steps": 3, "pad_side": "right", "kl_estimator": "k1"},
    )
