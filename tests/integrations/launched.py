"""A program under a launcher: FOLDER [EXIT_CODE]. Each process logs to TensorBoard; without a code it then waits."""

import os
import sys
import time
from pathlib import Path

import torch
from accelerate import Accelerator
from tensorboardX import SummaryWriter

STEPS = 5


def main(folder: str, code: str = "") -> None:
    """Log the mean of every process's number, and end as told."""
    accelerator = Accelerator(cpu=True)
    writer = SummaryWriter(str(Path(folder) / f"tensorboard-{accelerator.process_index}"))
    for step in range(STEPS):
        own = torch.tensor(float(step + accelerator.process_index))
        writer.add_scalar("loss", float(accelerator.reduce(own, "mean")), step)
    writer.close()
    (Path(folder) / f"pid-{accelerator.process_index}").write_text(str(os.getpid()))
    sys.stdout.write(f"{accelerator.process_index} of {accelerator.num_processes}\n")
    sys.stdout.flush()
    if not code:
        time.sleep(600)
    accelerator.end_training()
    sys.exit(int(code))


if __name__ == "__main__":
    main(*sys.argv[1:])
