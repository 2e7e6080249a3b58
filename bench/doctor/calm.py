"""Healthy lab runs without an alarm: `python -m bench.doctor.calm [--seeds 0 1 ... 7] [--only NAME ...] [--kept]`.

Every healthy variant is trained on each seed and diagnosed. Alarms that are there at the end and alarms that were
there at any row are counted apart: a live reader was told of the latter too. Odd seeds and seeds above 7 set no
threshold.
"""

import argparse
import os
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

from bench.doctor import laboratory
from bench.doctor.laboratory import QUIET, LabRun, fraction
from bench.guardian.played import Played, play
from rlprobe import lab
from rlprobe.doctor.calibration import wilson

SEEDS = tuple(range(8))


def main() -> None:
    """Print the runs that raised an alarm, then the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS)
    parser.add_argument("--only", nargs="+", default=(), help="names of variants; all of them by default")
    parser.add_argument("--kept", action="store_true", help="only runs that were trained before")
    arguments = parser.parse_args()
    runs = list(healthy(tuple(arguments.seeds), names=tuple(arguments.only), kept=arguments.kept))
    alarmed = [one for one in runs if one.alarms]
    for one in alarmed:
        print(f"{one.name}/{one.seed}: {', '.join(f'{found.id}@{found.onset_step}' for found in one.alarms)}")
    print(f"healthy lab runs with an alarm at the end: {_rate(len(alarmed), len(runs))}")
    print(f"on odd seeds: {sum(one.seed % 2 for one in alarmed)}")
    _ever(runs)


def _ever(runs: list[LabRun]) -> None:
    """Play what ever held a finding of an alarming signature, row by row, and tell what a live reader was told."""
    suspects = [one for one in runs if any(found.id not in QUIET for found in one.diagnosis.findings)]
    told, count = Counter[str](), 0
    with ProcessPoolExecutor(max_workers=os.cpu_count()) as pool:
        for one, played in zip(suspects, pool.map(_played, suspects), strict=True):
            if played.alerts:
                count += 1
                told.update({id for _, ids in played.alerts for id in ids})
                alerts = "; ".join(f"{', '.join(sorted(ids))} at {step}" for step, ids in played.alerts)
                print(f"  told live: {one.name}/{one.seed}: {alerts}", flush=True)
    print(f"healthy lab runs with an alarm at any row: {_rate(count, len(runs))}")
    print("by signature:", ", ".join(f"{id} {times}" for id, times in told.most_common()) or "none")


def _played(one: LabRun) -> Played:
    return play(laboratory.kept_run(one.name, one.seed, one.steps))


def _rate(count: int, runs: int) -> str:
    low, high = wilson(count, runs)
    return f"{fraction(count, runs)}, 95 % interval {low:.4f} to {high:.4f}"


def healthy(seeds: tuple[int, ...], *, names: tuple[str, ...] = (), kept: bool) -> Iterator[LabRun]:
    """Every healthy variant (or those named) on each seed, diagnosed."""
    every = tuple(one.name for one in lab.variants())
    yield from laboratory.read(seeds=seeds, names=names or every, kept=kept)


if __name__ == "__main__":
    main()
