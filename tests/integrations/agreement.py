"""Does a recording say what the trainer itself logged? An independent reading of the same run."""

import math
from collections.abc import Iterable, Mapping

import torch
from transformers import Trainer, set_seed

from rlprobe.integrations.trl_keys import canonical

CLOCKS = ("runtime", "per_second", "step_time", "eps")
UNRECORDED = frozenset(("step", "trl/step_time", "train_runtime", "train_loss", "total_flos", "eps"))
ROUNDED = 1e-4  # Online DPO logs its loss with four digits


def differences(
    rows: Mapping[int, Mapping[str, float]], history: Iterable[Mapping[str, float | None]], algorithm: str
) -> list[str]:
    """What a log of every step says otherwise than the recorded rows, or beyond them; empty when all agrees."""
    out = []
    for logged in history:
        if any(key.startswith(("eval_", "train_")) for key in logged):
            continue
        ours = rows.get(int(logged["step"] or 0), {})
        for key, value in logged.items():
            name = canonical(key, algorithm).name
            if key == "kl" and "trl/kl" in ours:
                name = "trl/kl"
            if name in UNRECORDED or (value is not None and math.isnan(value)):
                continue
            if name not in ours:
                out.append(f"step {logged['step']}: {key} is not recorded")
            elif value is not None and not math.isclose(ours[name], value, rel_tol=2e-5, abs_tol=ROUNDED):
                out.append(f"step {logged['step']}: {key} {value} is recorded as {name} {ours[name]}")
    return out


def outcome(trainer: Trainer) -> tuple[list[dict[str, object]], dict[str, torch.Tensor]]:
    """Train, and hand back the logs without clocks and the weights."""
    set_seed(1)
    trainer.train()
    logs = [
        {key: value for key, value in row.items() if not any(clock in key for clock in CLOCKS)}
        for row in trainer.state.log_history
    ]
    return logs, {name: value.clone() for name, value in trainer.model.state_dict().items()}


def same(left: tuple[object, dict[str, torch.Tensor]], right: tuple[object, dict[str, torch.Tensor]]) -> bool:
    """Whether two trainings came out bit for bit alike; NaN equals NaN."""
    weights = all(torch.equal(value, right[1][name]) for name, value in left[1].items())
    return weights and repr(left[0]) == repr(right[0])
