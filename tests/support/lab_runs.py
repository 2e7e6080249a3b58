"""The lab's runs at full length, each trained once for all tests that look at it."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

import pytest

from rlprobe import lab
from rlprobe.doctor.engine import diagnose
from rlprobe.doctor.finding import Diagnosis
from rlprobe.recording.run import Batch, MemoryFeed, Run

WHOLE = 300  # steps


@dataclass(frozen=True, slots=True)
class Trained:
    """A run of the lab without its samples, and what the doctor said when it had them."""

    run: Run
    diagnosis: Diagnosis


@cache
def trained(name: str) -> Trained:
    """A fault or variant after `WHOLE` steps with seed 0.

    Samples are most of a run's memory (megabytes a run, of which there are a hundred); without them all runs fit.
    """
    run = lab.run_in_memory(name, WHOLE, seed=0)
    return Trained(run=_without_samples(run), diagnosis=diagnose(run))


def _without_samples(run: Run) -> Run:
    batch = Batch(
        steps=run.steps,
        columns={name: (run.column(name), run.logged(name)) for name in run.metrics},
        segments=run.row_segments,
        events=tuple(run.events),
        manifest=run.manifest,
        metadata={name: run.metadata(name) for name in run.metrics},
    )
    return Run(MemoryFeed(source=run.source, batches=[batch]))


def of(name: str) -> pytest.MarkDecorator:
    """The mark of a test that looks at a trained run: pytest-xdist sends all tests of a run to one worker."""
    return pytest.mark.xdist_group(f"lab-{name}")


def each(names: Iterable[str]) -> list[object]:
    """The names as parameters, each marked with its run."""
    return [pytest.param(name, marks=of(name), id=name) for name in names]
