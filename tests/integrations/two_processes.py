"""One process of a TRL run of several, for tests and benches: `MODEL RUN OUT KIND [STEPS [WORDS ...]]`, launched.

The middle group lies on both ranks. Every process writes OUT/told-RANK.json: what it logged, its last step, and
what its weights add up to. Words: `alone` has rank 0 record and nobody else, `halt` asks for a halt at once.
"""

import json
import os
import sys
from pathlib import Path

import torch
from transformers import set_seed

from tests.integrations.cpu_sharding import settings_of

SETTINGS = {
    "grpo": {"per_device_train_batch_size": 12, "num_generations": 8},
    "rloo": {"per_device_train_batch_size": 16, "num_generations": 8},
    "dpo": {"gradient_accumulation_steps": 2},
}


def main(home: str, run: str, out: str, kind: str = "grpo", steps: str = "3", *words: str) -> None:
    """Train; with RUN "-" without a recorder."""
    from rlprobe import attach

    torch.set_num_threads(1)
    name, sharing = settings_of(kind)
    from tests.integrations.trl_kinds_lab import KINDS, grpo, ppo, rloo  # after accelerate has been told

    settings = {"max_steps": int(steps), **SETTINGS.get(name, {}), **sharing}
    if name == "ppo":  # counts episodes: 8 samples and two micro-batches a process and step
        settings["total_episodes"] = 32 * settings.pop("max_steps")
        set_seed(int(os.environ.get("RANK", "0")))  # it draws from numpy, which it does not seed
    trainer = {"grpo": grpo, "rloo": rloo, "ppo": ppo, **KINDS}[name](Path(home), Path(out), **settings)
    if run != "-":
        attach(trainer, run, capture="all", record_all_ranks="alone" not in words)
    if "halt" in words and trainer.is_world_process_zero():
        (Path(run) / "control.json").write_text('{"request": "halt", "reason": "enough"}', encoding="utf-8")
    trainer.train()
    values = [getattr(each, "full_tensor", each.detach)() for each in trainer.model.state_dict().values()]
    clocks = ("runtime", "per_second", "step_time", "eps")
    logs = [{k: v for k, v in row.items() if not any(c in k for c in clocks)} for row in trainer.state.log_history]
    rank = trainer.accelerator.process_index
    told = {"rank": rank, "step": trainer.state.global_step, "logs": logs}
    told["weights"] = sum(float(each.double().abs().sum()) for each in values)
    Path(out, f"told-{rank}.json").write_text(json.dumps(told), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
