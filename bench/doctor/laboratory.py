"""Lab runs, trained for real and diagnosed; kept on disk, because training takes longer than reading."""

import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rlprobe import lab
from rlprobe.doctor.catalog import entries
from rlprobe.doctor.engine import diagnose
from rlprobe.doctor.finding import Diagnosis, Finding
from rlprobe.opening import open_run
from rlprobe.recording.run import Run

KEPT = Path(os.environ.get("RLPROBE_BENCH_CACHE", Path.home() / ".cache" / "rlprobe-bench"))
STEPS = 300
QUIET = frozenset(entry.signature.id for entry in entries() if entry.signature.severity == "info")


@dataclass(frozen=True, slots=True, kw_only=True)
class LabRun:
    """One lab run and what the doctor says of it.

    Attributes:
        expected: signatures that the fault provokes; empty for a healthy variant.
        onset: step at which the fault set in; None where the run is healthy, or the fault does harm only once training
            has carried the policy there.
    """

    name: str
    seed: int
    steps: int
    expected: tuple[str, ...]
    onset: int | None
    diagnosis: Diagnosis

    @property
    def alarms(self) -> tuple[Finding, ...]:
        """Findings of severity critical or warning, in printed order."""
        return tuple(one for one in self.diagnosis.findings if one.severity != "info")

    @property
    def told(self) -> tuple[Finding, ...]:
        """Alarms, and the active findings of signatures that are never more than info, in printed order."""
        return tuple(
            one
            for one in self.diagnosis.findings
            if one.severity != "info" or (one.id in QUIET and one.status == "active")
        )

    @property
    def named(self) -> bool:
        """Whether one of the expected signatures was told."""
        return bool({one.id for one in self.told} & set(self.expected))

    @property
    def headed(self) -> bool:
        """Whether the first finding told is one of the expected."""
        return bool(self.told) and self.told[0].id in self.expected

    @property
    def onset_error(self) -> float | None:
        """Distance of the first expected finding's onset from the fault's, in fractions of the run."""
        answering = [one for one in self.told if one.id in self.expected]
        if self.onset is None or not answering:
            return None
        return abs(answering[0].onset_step - self.onset) / self.steps


def read(
    *, seeds: tuple[int, ...], steps: int = STEPS, names: tuple[str, ...] = (), kept: bool = False
) -> Iterator[LabRun]:
    """Faults and healthy variants (all of them, or those named) on each seed, diagnosed.

    They are trained where they are not kept yet, unless only kept ones are asked for.
    """
    every: tuple[lab.Fault | lab.Variant, ...] = (*lab.faults(), *lab.variants())
    known = {entry.name: entry for entry in every}
    jobs = [(name, seed, steps) for name in (names or tuple(known)) for seed in seeds]
    jobs = [job for job in jobs if not kept or _folder(*job).exists()]
    with ProcessPoolExecutor(max_workers=os.cpu_count()) as pool:
        for (name, seed, _), _ in zip(jobs, pool.map(_train, jobs), strict=True):
            entry = known[name]
            fault = entry if isinstance(entry, lab.Fault) else None
            yield LabRun(
                name=name,
                seed=seed,
                steps=steps,
                expected=() if fault is None else fault.signatures,
                onset=None if fault is None or fault.onset is None else 1 + int(fault.onset * steps),
                diagnosis=diagnose(kept_run(name, seed, steps)),
            )


def _folder(name: str, seed: int, steps: int) -> Path:
    return KEPT / f"{name}-{seed}-{steps}"


def _train(job: tuple[str, int, int]) -> None:
    name, seed, steps = job
    if not _folder(*job).exists():
        lab.train(name, _folder(*job), steps=steps, seed=seed)


def kept_run(name: str, seed: int, steps: int) -> Run:
    """A run that was trained before."""
    return open_run(_folder(name, seed, steps))


def fraction(hits: int, trials: int) -> str:
    """Hits of trials as text, with their percentage."""
    return f"{hits}/{trials} ({100 * hits / max(1, trials):.0f} %)"


def median(values: list[float]) -> float:
    """Median, NaN of nothing."""
    return float(np.median(values)) if values else float("nan")
