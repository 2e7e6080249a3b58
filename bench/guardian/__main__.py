"""Alerts, halts and saved steps: `python -m bench.guardian [--seeds 0 33] [--kept] [--simulated 2500] [--only ...]`.

Plays labelled real runs, lab runs and simulated ones row by row, without cooldown and without a cap, then 100 runs on
one core. Rows before a run's first alarming finding come at once, and a run without one is only diagnosed: no row of it
has an alert.
"""

import argparse
import os
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tests.support.corpus import Label, labels, opened

from bench.doctor import corpus
from bench.doctor.healthy import healthy_run
from bench.doctor.laboratory import KEPT, fraction, median
from bench.doctor.noise import PHIS
from bench.guardian import crowd
from bench.guardian.played import Played, play
from rlprobe import lab
from rlprobe.opening import open_run

STEPS = 300
SIMULATED_STEPS = 400
TABLES = ("real", "healthy", "simulated", "faults", "crowd")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 33), help="first and past the last, healthy lab runs")
    parser.add_argument("--kept", action="store_true", help="of the lab only runs that were trained before")
    parser.add_argument("--fault-seeds", type=int, nargs="+", default=(0,), help="lab runs with a fault")
    parser.add_argument("--simulated", type=int, default=2500, help="simulated healthy runs of 400 steps")
    parser.add_argument("--only", nargs="+", choices=TABLES, default=TABLES, help="tables; all of them by default")
    arguments = parser.parse_args()
    with ProcessPoolExecutor(max_workers=os.cpu_count()) as pool:
        tables: dict[str, Callable[[], object]] = {
            "real": lambda: real(pool),
            "healthy": lambda: healthy_lab(pool, range(*arguments.seeds), kept=arguments.kept),
            "simulated": lambda: simulated(pool, arguments.simulated),
            "faults": lambda: faults(pool, arguments.fault_seeds, kept=arguments.kept),
            "crowd": crowd.measure,
        }
        for name in arguments.only:
            tables[name]()


def real(pool: ProcessPoolExecutor) -> None:
    """The labelled real runs."""
    known = labels()
    print("\n## Real runs, row by row")
    if not known:
        print("the labelled corpus is not here; set RLPROBE_SHARED_DATA")
        return
    runs = list(zip(known, pool.map(_real, known), strict=True))
    for verdict in ("healthy", "ambiguous", "failing"):
        _table(verdict, [played for label, played in runs if label.verdict == verdict])
    calm = [(label.id, played) for label, played in runs if label.verdict == "healthy"]
    _named(calm)
    _halts(calm, healthy=True)
    failing = [(label, played) for label, played in runs if label.verdict == "failing"]
    told = [(label, played, _answer(label, played)) for label, played in failing]
    print(
        f"failing runs in which an alert answers a label: {fraction(sum(s is not None for _, _, s in told), len(told))}"
    )
    delays = [
        (step - label.onset_step, (step - label.onset_step) / max(1, played.last - played.first))
        for label, played, step in told
        if step is not None and label.onset_step is not None
    ]
    steps, part = median([float(one) for one, _ in delays]), median([one for _, one in delays])
    print(f"delay of that alert from the labelled onset: median {steps:.0f} steps, {100 * part:.0f} % of the run")
    _halts([(label.id, played) for label, played in failing])


def faults(pool: ProcessPoolExecutor, seeds: Iterable[int], *, kept: bool) -> None:
    """Lab runs with a fault."""
    print("\n## Lab runs with a fault, row by row")
    jobs = _jobs([fault.name for fault in lab.faults()], seeds, kept=kept)
    runs = list(zip(jobs, pool.map(_lab, jobs), strict=True))
    _table("faults", [played for _, played in runs])
    _unnamed(runs)
    onsets = {fault.name: fault.onset for fault in lab.faults()}
    expected = {fault.name: set(fault.signatures) for fault in lab.faults()}
    delays = []
    for (name, _), played in runs:
        onset = onsets[name]
        step = next((step for step, ids in played.alerts if ids & expected[name]), None)
        if onset is not None and step is not None:
            delays.append(step - (1 + int(onset * STEPS)))
    print(f"delay from the fault to an alert that names it: median {median([float(one) for one in delays]):.0f} steps")
    _halts([(f"{name}/{seed}", played) for (name, seed), played in runs])


def healthy_lab(pool: ProcessPoolExecutor, seeds: Iterable[int], *, kept: bool) -> None:
    """Healthy lab runs; nothing was set on odd seeds and on those above 7."""
    print("\n## Healthy lab runs")
    jobs = _jobs([variant.name for variant in lab.variants()], seeds, kept=kept)
    runs = list(pool.map(_lab, jobs, chunksize=4))
    _table("healthy", runs)
    calm = [(f"{name}/{seed}", played) for (name, seed), played in zip(jobs, runs, strict=True)]
    _named(calm)
    _halts(calm, healthy=True)


def simulated(pool: ProcessPoolExecutor, count: int) -> None:
    """Simulated healthy runs."""
    print("\n## Simulated healthy runs")
    began = time.monotonic()
    runs = list(pool.map(_simulated, range(count), chunksize=16))
    _table("simulated", runs)
    calm = [(str(seed), played) for seed, played in enumerate(runs)]
    _named(calm)
    _halts(calm, healthy=True)
    print(f"{time.monotonic() - began:.0f} s")


def _table(name: str, runs: list[Played]) -> None:
    rows = sum(one.rows for one in runs)
    counts = [len(one.alerts) for one in runs]
    alarmed = sum(count > 0 for count in counts)
    print(
        f"{name}: {len(runs)} runs, {rows:,} rows; with an alert {fraction(alarmed, len(runs))}; alerts a run median "
        f"{median([float(one) for one in counts]):.0f}, most {max(counts, default=0)}; {sum(counts)} alerts = "
        f"{1000 * sum(counts) / max(1, rows):.2f} a 1,000 rows; {sum(one.calm for one in runs)} told a recovery"
    )


def _unnamed(runs: list[tuple[tuple[str, int], Played]]) -> None:
    """How many faults an alert names; a fault whose findings are never more than info is told by none."""
    expected = {fault.name: set(fault.signatures) for fault in lab.faults()}
    silent = [
        f"{name}/{seed}" for (name, seed), played in runs if not any(ids & expected[name] for _, ids in played.alerts)
    ]
    print(f"an alert names the fault: {fraction(len(runs) - len(silent), len(runs))}; not so: {', '.join(silent)}")


def _jobs(names: list[str], seeds: Iterable[int], *, kept: bool) -> list[tuple[str, int]]:
    every = [(name, seed) for name in names for seed in seeds]
    return [job for job in every if not kept or _folder(*job).exists()]


def _folder(name: str, seed: int) -> Path:
    return KEPT / f"{name}-{seed}-{STEPS}"


def _named(runs: list[tuple[str, Played]]) -> None:
    """What was sent of runs that are healthy."""
    for name, played in runs:
        for step, ids in played.alerts:
            print(f"  false: {name} at {step} of {played.last}: {', '.join(sorted(ids))}")


def _halts(runs: list[tuple[str, Played]], *, healthy: bool = False) -> None:
    halted = [(name, played) for name, played in runs if played.halt is not None]
    rows = sum(played.rows for _, played in runs)
    if healthy:
        named = ", ".join(f"{name} at {one.halt} by {one.halted_by}" for name, one in halted)
        print(f"halts: {len(halted)} in {rows:,} healthy steps{': ' if named else ''}{named}")
        return
    saved = [played.saved for _, played in halted]
    share = sum(one.saved * one.rows for _, one in runs) / max(1, rows)
    print(
        f"would halt {fraction(len(halted), len(runs))}; steps after the halt: median {100 * median(saved):.0f} % of "
        f"such a run, {100 * share:.0f} % of all of them"
    )
    print("  " + ", ".join(f"{name} at {one.halt} of {one.last} by {one.halted_by}" for name, one in halted))


def _answer(label: Label, played: Played) -> int | None:
    """Step of the first alert that answers one of the run's labels."""
    wanted = frozenset().union(*(corpus.answers(one) for one in label.findings))
    return next((step for step, ids in played.alerts if ids & wanted), None)


def _real(label: Label) -> Played:
    return play(opened(label))


def _lab(job: tuple[str, int]) -> Played:
    name, seed = job
    folder = _folder(name, seed)
    if not folder.exists():
        lab.train(name, folder, steps=STEPS, seed=seed)
    return play(open_run(folder))


def _simulated(seed: int) -> Played:
    return play(healthy_run(seed, steps=SIMULATED_STEPS, phi=PHIS[seed % len(PHIS)]))


if __name__ == "__main__":
    main()
