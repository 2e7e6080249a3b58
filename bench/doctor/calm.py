"""Healthy lab runs without an alarm: `python -m bench.doctor.calm [--seeds 0 1 ... 7] [--kept]`.

Every healthy variant is trained on each seed and diagnosed. A finding that came and went was an alarm while it was
there; those are counted apart. Odd seeds and seeds above 7 set no threshold.
"""

import argparse
from collections import Counter
from collections.abc import Iterator

from bench.doctor import laboratory
from bench.doctor.laboratory import LabRun, fraction
from rlprobe import lab
from rlprobe.doctor.calibration import wilson

SEEDS = tuple(range(8))


def main() -> None:
    """Print the runs that raised an alarm, then the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS)
    parser.add_argument("--kept", action="store_true", help="only runs that were trained before")
    arguments = parser.parse_args()
    runs, alarmed, passing = 0, Counter[bool](), Counter[str]()
    for one in healthy(tuple(arguments.seeds), kept=arguments.kept):
        runs += 1
        passing.update({found.id for found in one.diagnosis.findings if found.status == "recovered"})
        if one.alarms:
            alarmed[bool(one.seed % 2)] += 1
            print(f"{one.name}/{one.seed}: {', '.join(f'{found.id}@{found.onset_step}' for found in one.alarms)}")
    low, high = wilson(alarmed.total(), runs)
    print(f"healthy lab runs with an alarm: {fraction(alarmed.total(), runs)}, 95 % interval {low:.4f} to {high:.4f}")
    print(f"on odd seeds: {alarmed[True]}")
    print("came and went:", ", ".join(f"{id} {count}" for id, count in passing.most_common()) or "none")


def healthy(seeds: tuple[int, ...], *, kept: bool) -> Iterator[LabRun]:
    """Every healthy variant on each seed, diagnosed."""
    yield from laboratory.read(seeds=seeds, names=tuple(one.name for one in lab.variants()), kept=kept)


if __name__ == "__main__":
    main()
