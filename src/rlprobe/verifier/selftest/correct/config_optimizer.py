"""A model and its optimizer with a warm-up, and the settings that they were built from."""

import torch

from rlprobe.verifier.pipeline import Pipeline

CONFIG = {
    "learning_rate": 2e-6,
    "warmup_steps": 10,
    "max_steps": 200,
    "bf16": True,
    "eos_token_id": 2,
    "pad_token_id": 0,
}


class Policy(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(11, 8)
        self.dropout = torch.nn.Dropout(0.0)
        self.head = torch.nn.Linear(8, 11)

    def forward(self, ids):
        return self.head(self.dropout(self.embedding(ids)))


def build_optimizer(model, learning_rate=1e-3):
    decayed = [p for p in model.parameters() if p.ndim > 1]
    plain = [p for p in model.parameters() if p.ndim <= 1]
    groups = [{"params": decayed, "weight_decay": 0.01}, {"params": plain, "weight_decay": 0.0}]
    return torch.optim.SGD(groups, lr=learning_rate)


def make():
    torch.manual_seed(0)
    model = Policy()
    optimizer = build_optimizer(model, learning_rate=CONFIG["learning_rate"])
    torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, step / CONFIG["warmup_steps"]))
    return Pipeline(model=model, optimizer=optimizer, config=CONFIG)
