"""Runs made of columns in memory, and the labelled real ones by name."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from rlprobe.recording.run import Batch, Event, FloatArray, Manifest, MemoryFeed, Metadata, Run, batch_from_columns
from tests.support.corpus import labels, opened


def columns_run(
    columns: Mapping[str, Sequence[float] | FloatArray],
    *,
    steps: Sequence[int] | None = None,
    settings: Mapping[str, object] | None = None,
    algorithm: str = "grpo",
    framework: str = "trl",
    events: Sequence[Event] = (),
    metadata: Mapping[str, Metadata] | None = None,
) -> Run:
    """A closed run of these columns, one value a step; NaN is not logged."""
    arrays = {name: np.asarray(values, dtype=np.float64) for name, values in columns.items()}
    rows = max((len(values) for values in arrays.values()), default=0)
    batch = batch_from_columns(
        np.arange(rows) if steps is None else np.asarray(steps, dtype=np.int64),
        arrays,
        manifest=Manifest(algorithm=algorithm, framework=framework, settings=settings or {}, state="closed"),
        events=tuple(events),
        metadata=metadata or {},
    )
    return Run(MemoryFeed("memory", [batch]))


def logged(values: Sequence[float] | FloatArray, steps: Sequence[int]) -> Batch:
    """A batch of one metric, reward_mean, in which NaN and infinities count as logged."""
    array = np.asarray(values, dtype=np.float64)
    return Batch(steps=np.asarray(steps, dtype=np.int64), columns={"reward_mean": (array, np.ones(len(array), bool))})


def real_run(name: str) -> Run:
    """A labelled real run; the test is skipped where the corpus is not to be had."""
    for label in labels():
        if label.id == name:
            return opened(label)
    pytest.skip("the labelled real runs are not here")


def course(low: float, high: float, rows: int = 80, *, noise: float = 0.0, seed: int = 0) -> FloatArray:
    """(rows,) a straight way from low to high with Gaussian noise around it."""
    return np.linspace(low, high, rows) + noise * np.random.default_rng(seed).normal(size=rows)
