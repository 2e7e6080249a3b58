"""A training process of one's own: `python -m tests.guardian.training RUN BROKEN_FROM [beside]`.

Logs a step every few milliseconds; from BROKEN_FROM on the loss is NaN (0: never). Ends when it is asked to stop, or
when RUN.stop is there. With `beside` it starts the guardian itself.
"""

import sys
import time
from pathlib import Path

from rlprobe import Recorder
from rlprobe.integrations.beside import Guardian
from tests.guardian.stories import rows

STEP_SECONDS = 0.02
MOST_STEPS = 20_000


def main(run: str, broken_from: str, beside: str = "") -> None:
    """Train until told to stop."""
    table = rows(MOST_STEPS, broken_from=int(broken_from) or None)
    recorder = Recorder(run, algorithm="grpo")
    guardian = Guardian(Path(run)) if beside else None
    if guardian is not None:
        guardian.start()
        guardian.act_at_once(recorder)
    say("training")
    for row in table:
        step = int(str(row["step"]))
        if step == 30:
            recorder.log_event("checkpoint", step, path="out/checkpoint-30")
        recorder.log_step(step, {name: row[name] for name in ("loss", "grad_norm")}, reward_mean=row["reward"])
        if recorder.should_stop:
            say(f"stopped at {step}: {recorder.stop_reason}")
            break
        if Path(f"{run}.stop").exists():
            break
        time.sleep(STEP_SECONDS)
    recorder.close()
    if guardian is not None:
        guardian.wait()


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
