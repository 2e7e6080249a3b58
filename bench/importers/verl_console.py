"""CPU time and memory of reading 100 MB of verl's console.

    python -m bench.importers.verl_console [MEGABYTES]

The lines have 130 keys each, behind Ray's coloured prefix, every second number as numpy prints it.
"""

import random
import resource
import sys
import tempfile
import time
from pathlib import Path

from rlprobe import open_run

KEYS = (
    *("actor/entropy", "actor/kl_loss", "actor/pg_loss", "actor/pg_clipfrac", "actor/ppo_kl", "actor/grad_norm"),
    *("critic/score/mean", "critic/score/max", "critic/score/min", "critic/rewards/mean", "response_length/mean"),
    *("response_length/max", "response_length/clip_ratio", "perf/throughput", "timing_s/step", "timing_s/gen"),
    *(f"val-aux/set_{place}/reward/mean@8" for place in range(114)),
)
LIMIT_SECONDS = 8.0  # CPU seconds for 100 MB


def write(path: Path, size: int) -> int:
    """A log of about this many bytes; the number of its steps."""
    chance = random.Random(0)
    step = written = 0
    with path.open("w", encoding="utf-8") as file:
        while written < size:
            numbers = (repr(chance.random()) for _ in KEYS)
            texts = (f"np.float64({each})" if place % 2 else each for place, each in enumerate(numbers))
            pairs = [f"{key}:{text}" for key, text in zip(KEYS, texts, strict=True)]
            written += file.write(f"\x1b[36m(TaskRunner pid=17)\x1b[0m step:{step} - {' - '.join(pairs)}\n")
            step += 1
    return step


def main() -> int:
    """Write, read, and tell what it cost."""
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "console.log"
        steps = write(path, megabytes * 1_000_000)
        start = time.process_time()
        run = open_run(path)
        seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    limit = LIMIT_SECONDS * megabytes / 100
    print(f"{megabytes} MB, {run.rows} of {steps} steps, {len(run.metrics)} columns")
    print(f"{seconds:.2f} s of CPU (at most {limit:.1f}), {peak:.0f} MiB at the peak")
    return int(seconds > limit or run.rows != steps)


if __name__ == "__main__":
    raise SystemExit(main())
