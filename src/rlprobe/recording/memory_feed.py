"""Batches that are already in memory, as a feed: for importers that read a whole file, and for tests."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from rlprobe.recording.batch import Batch, FloatArray, IntArray, Samples


@dataclass(slots=True)
class MemoryFeed:
    """A feed of batches, which it hands out one by one."""

    source: str
    batches: list[Batch]
    sample_columns: Mapping[str, object] = field(default_factory=dict)
    sample_rows: int = 0

    def poll(self) -> Batch | None:
        """The next batch, or None."""
        return self.batches.pop(0) if self.batches else None

    def samples(self, *, step: int | None, columns: tuple[str, ...] | None) -> Samples:
        """Sample rows, filtered by step and columns."""
        wanted = (
            self.sample_columns if columns is None else {n: c for n, c in self.sample_columns.items() if n in columns}
        )
        if step is None:
            return Samples(columns=wanted, rows=self.sample_rows)
        keep = np.flatnonzero(np.asarray(self.sample_columns["step"]) == step) if self.sample_rows else np.empty(0, int)
        taken = {
            name: values[keep] if isinstance(values, np.ndarray) else [values[i] for i in keep]  # type: ignore[index]  # a list by contract
            for name, values in wanted.items()
        }
        return Samples(columns=taken, rows=len(keep))


def batch_from_columns(steps: IntArray, columns: Mapping[str, FloatArray], **rest: object) -> Batch:
    """A batch whose every finite or infinite value counts as logged and NaN as not logged."""
    pairs = {name: (values, ~np.isnan(values)) for name, values in columns.items()}
    return Batch(steps=steps, columns=pairs, **rest)  # type: ignore[arg-type]  # rest are Batch's own fields
