"""A Ray driver whose actor logs; the driver alone calls tap(): python -m bench.frameworks.ray_worker FOLDER."""

import sys
from pathlib import Path

import ray

import rlprobe


@ray.remote
class Trainer:
    """Logs as a trainer in an actor does."""

    def train(self, folder: str) -> int:
        """Log three steps."""
        from tensorboardX import SummaryWriter

        writer = SummaryWriter(folder)
        for step in range(3):
            writer.add_scalar("actor/entropy", 1.0 - step / 10, step)
        writer.close()
        return 3


def main(folder: Path) -> None:
    """Train in an actor."""
    rlprobe.tap(folder / "run")
    ray.init(num_cpus=1, include_dashboard=False)
    trainer = Trainer.remote()
    ray.get(trainer.train.remote(str(folder / "tensorboard")))
    ray.kill(trainer, no_restart=True)
    ray.shutdown()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
