"""Lab runs, trained for real and diagnosed; kept on disk, because training takes longer than reading."""

import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rlprobe import lab
from rlprobe.doctor.engine import diagnose
from rlprobe.doctor.finding import Diagnosis, Finding
from rlprobe.recording.run import Run

KEPT = Path(os.environ.get("RLPROBE_BENCH_CACHE", Path.home() / ".cache" / "rlprobe-bench"))
STEPS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class LabRun:
    """One lab run and what the doctor says of it.

    Attributes:
        expected: signatures that the fault provokes; empty for a healthy variant.
        onset: step at which the fault set in, None where it is there from the start or the run is healthy.
    """

    name: str
    seed: int
    steps: int
    expected: tuple[str, ...]
    diagnosis: Diagnosis

    @property
    def alarms(self) -> tuple[Finding, ...]:
        """Findings of severity critical or warning, in printed order."""
        return tuple(one for one in self.diagnosis.findings if one.severity != "info")


def read(*, seeds: tuple[int, ...], steps: int = STEPS) -> Iterator[LabRun]:
    """Every fault and every healthy variant on each seed, trained where it is not kept yet, diagnosed."""
    expected = {fault.name: tuple(fault.signatures) for fault in lab.faults()}
    expected |= {variant.name: () for variant in lab.variants()}
    jobs = [(name, seed, steps) for name in expected for seed in seeds]
    with ProcessPoolExecutor(max_workers=os.cpu_count()) as pool:
        for (name, seed, _), _ in zip(jobs, pool.map(_train, jobs), strict=True):
            yield LabRun(
                name=name, seed=seed, steps=steps, expected=expected[name], diagnosis=diagnose(_kept(name, seed, steps))
            )


def _folder(name: str, seed: int, steps: int) -> Path:
    return KEPT / f"{name}-{seed}-{steps}"


def _train(job: tuple[str, int, int]) -> None:
    name, seed, steps = job
    if not _folder(*job).exists():
        lab.train(name, _folder(*job), steps=steps, seed=seed)


def _kept(name: str, seed: int, steps: int) -> Run:
    from rlprobe.opening import open_run

    return open_run(_folder(name, seed, steps))


def fraction(hits: int, trials: int) -> str:
    """Hits of trials as text, with their percentage."""
    return f"{hits}/{trials} ({100 * hits / max(1, trials):.0f} %)"


def median(values: list[float]) -> float:
    """Median, NaN of nothing."""
    return float(np.median(values)) if values else float("nan")
