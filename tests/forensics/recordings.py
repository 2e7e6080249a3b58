"""Recordings with samples, written by the real recorder."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from rlprobe.recorder.recorder import Recorder
from rlprobe.recording.run import Run
from rlprobe.recording.sample_blocks import SampleBlock


def record(folder: Path, steps: Mapping[int, Sequence[Mapping[str, object]]]) -> Path:
    """A closed recording of these samples; every one of them is kept."""
    recorder = Recorder(folder, algorithm="grpo", capture="all")
    for step, rows in steps.items():
        recorder.log_step(step, {"reward_mean": 0.5})
        recorder.log_samples(step, rows)
    recorder.close()
    return folder


class Watched:
    """A block that remembers which columns were asked of it."""

    def __init__(self, block: SampleBlock) -> None:
        self._block = block
        self.types, self.steps = block.types, block.steps
        self.asked: list[tuple[str, ...]] = []

    def table(self, names: Sequence[str]) -> object:
        """The block's own table."""
        self.asked.append(tuple(names))
        return self._block.table(names)


def watched(run: Run) -> list[Watched]:
    """The run's blocks, watched."""
    return [Watched(block) for block in run.sample_blocks()]
