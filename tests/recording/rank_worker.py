"""One process of a run of several, for tests: `python -m tests.recording.rank_worker RUN RANK WORLD STEPS [GATE]`.

Every rank holds a part of every group. With GATE, a file, the process records its steps and then waits to be killed.
"""

import os
import sys
import time
from pathlib import Path

GROUPS, SIZE = 3, 4


def reward(step: int, group: int, sample: int) -> float:
    """What a sample earns; the last group is all alike."""
    return 1.0 if group == GROUPS - 1 else ((step * 7 + group * 5 + sample * 3) % 11) / 10


def rows(step: int, rank: int, world: int) -> list[dict[str, object]]:
    """The samples of one rank: sample i of a group lies on rank i modulo world."""
    return [
        {
            "group": f"{step}/{group}",
            "group_size": SIZE,
            "sample": group * SIZE + sample,
            "completion": f"{step}.{group}.{sample}",
            "reward": reward(step, group, sample),
            "token_logprobs": [-0.5] * (rank + 1),
        }
        for group in range(GROUPS)
        for sample in range(SIZE)
        if sample % world == rank
    ]


def main(run: str, rank: str, world: str, steps: str, gate: str = "") -> None:
    """Record some steps as one rank."""
    os.environ |= {"RANK": rank, "WORLD_SIZE": world, "LOCAL_WORLD_SIZE": world}
    from rlprobe import Recorder

    number = int(rank)
    with Recorder(run, algorithm="grpo", record_all_ranks=True, capture="all") as recorder:
        for step in range(1, int(steps) + 1):
            seconds = 0.1 * (1 + number)
            recorder.log_step(step, step_seconds=seconds, **({"loss": 1.0 / step} if number == 0 else {"loss": 99.0}))
            recorder.log_samples(step, rows(step, number, int(world)))
            if recorder.should_stop_after(step, seconds):
                recorder.log_event("custom", step, message="stopped")
                return
        recorder.log_event("custom", int(steps), message=f"rank {rank} is done")
        recorder.flush()
        if gate:
            Path(gate).touch()
            time.sleep(600)


if __name__ == "__main__":
    main(*sys.argv[1:])
