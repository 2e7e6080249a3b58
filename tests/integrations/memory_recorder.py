"""A recorder that keeps what it is handed, for tests of what the integrations hand over."""

from collections.abc import Mapping
from pathlib import Path

from rlprobe.integrations.trl import attach


class MemoryRecorder:
    """Steps merge by key, the last value wins; samples and events are kept in order."""

    def __init__(self, run_dir: Path, **facts: object) -> None:
        self.run_dir, self.facts = run_dir, facts
        self.steps: dict[int, dict[str, float]] = {}
        self.samples: list[tuple[int, Mapping[str, list[object]]]] = []
        self.events: list[tuple[str, int | None, dict[str, object]]] = []
        self.should_stop = False
        self.closed = self.crashed = False

    def log_step(self, step: int, metrics: Mapping[str, float]) -> None:
        self.steps.setdefault(step, {}).update({name: float(value) for name, value in metrics.items()})

    def log_samples(self, step: int, columns: Mapping[str, list[object]], *, owned: bool = False) -> None:
        assert len({len(column) for column in columns.values()}) == 1
        self.samples.append((step, columns))

    def log_event(self, kind: str, step: int | None = None, **fields: object) -> None:
        self.events.append((kind, step, fields))

    def should_stop_after(self, step: int, seconds: float = 1.0) -> bool:
        return self.should_stop

    def flush(self) -> None:
        pass

    def mark_crashed(self) -> None:
        self.crashed = True

    def close(self) -> None:
        self.closed = True

    def rows(self, split: str = "train") -> list[dict[str, object]]:
        """Every sample row of a split, with its step."""
        return [
            {"step": step} | {name: column[row] for name, column in columns.items()}
            for step, columns in self.samples
            for row in range(len(columns["sample"]))
            if columns["split"][row] == split
        ]

    def kinds(self) -> list[str]:
        """The kinds of the events."""
        return [kind for kind, _, _ in self.events]


def recorded(trainer: object, tmp_path: Path, *, capture: str = "default", resume: str | None = None) -> MemoryRecorder:
    """Train and hand back what was recorded."""
    with attach(trainer, tmp_path / "run", capture=capture) as probe:
        recorder = probe.recorder
        trainer.train(resume_from_checkpoint=resume)
    assert isinstance(recorder, MemoryRecorder)
    return recorder
