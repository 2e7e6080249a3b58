"""One process of a TRL run of several, for tests and benches: `MODEL RUN OUT KIND [STEPS] [HALT]` under a launcher.

The middle group lies on both ranks. Every process writes OUT/told-RANK.json: what it logged, its last step, and
what its weights add up to.
"""

import json
import sys
from pathlib import Path

import torch

from tests.integrations.trl_kinds_lab import KINDS, grpo


def main(home: str, run: str, out: str, kind: str = "grpo", steps: str = "3", halt: str = "") -> None:
    """Train; with RUN "-" without a recorder; with HALT somebody asks for a halt at once."""
    from rlprobe import attach

    torch.set_num_threads(1)
    settings: dict[str, object] = {"max_steps": int(steps)}
    if kind == "grpo":
        settings |= {"per_device_train_batch_size": 12, "num_generations": 8}
    trainer = {"grpo": grpo, **KINDS}[kind](Path(home), Path(out), **settings)
    if run != "-":
        attach(trainer, run, capture="all", record_all_ranks=True)
    if halt and trainer.is_world_process_zero():
        (Path(run) / "control.json").write_text('{"request": "halt", "reason": "enough"}', encoding="utf-8")
    trainer.train()
    weights = sum(float(each.double().abs().sum()) for each in trainer.model.state_dict().values())
    clocks = ("runtime", "per_second", "step_time")
    logs = [{k: v for k, v in row.items() if not any(c in k for c in clocks)} for row in trainer.state.log_history]
    rank = trainer.accelerator.process_index
    told = {"rank": rank, "step": trainer.state.global_step, "weights": weights, "logs": logs}
    Path(out, f"told-{rank}.json").write_text(json.dumps(told), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
