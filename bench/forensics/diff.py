"""How often `rlprobe diff` says that healthy runs part, and how soon it sees a fault: `python -m bench.forensics.diff`.

Healthy pairs are runs of the lab of one recipe and two seeds, and simulated AR(1) metrics around a common course.
Faults set in at half of a lab run, at their mechanism, in a run of the same seed and in one of another.
"""

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np

from rlprobe.forensics.comparison import Comparison, compare
from rlprobe.lab.catalog import BASE
from rlprobe.lab.recipe import Recipe, Seams, State
from rlprobe.lab.recording import variants
from rlprobe.lab.trainer import Logged, policy_gradient
from rlprobe.recording.run import Batch, BoolArray, FloatArray, IntArray, Manifest, MemoryFeed, Run

STEPS = 240  # of a lab run; a fault sets in behind the first half
ROWS, METRICS = 400, 40  # of a simulated pair
PHIS = (0.3, 0.6, 0.9)
OTHERS = ("healthy-slow", "healthy-decay", "healthy-no-kl")  # recipes that differ from healthy-grpo in one setting
POWER_SEEDS = 3  # of each fault
DELAYS = (10, 15, 20, 30, 40, 60, 80, 120)  # steps behind a fault after which the runs are compared


def _late(state: State) -> bool:
    return state.step > state.steps // 2


FAULTS: dict[str, Recipe] = {
    "judge on another scale": replace(BASE, seams=Seams(returned=lambda r, s: 4 * r + 1 if _late(s) else r)),
    "every reward 0.25 lower": replace(BASE, seams=Seams(returned=lambda r, s: r - 0.25 if _late(s) else r)),
    "random judge": replace(BASE, seams=Seams(returned=lambda r, s: s.rng.random(r.shape) if _late(s) else r)),
    "constant reward": replace(BASE, seams=Seams(returned=lambda r, s: np.full_like(r, 0.5) if _late(s) else r)),
    "advantages of the wrong sign": replace(BASE, seams=Seams(credited=lambda a, r, s: -a if _late(s) else a)),
    "temperature 0.3": replace(BASE, seams=Seams(sampling=lambda x, s: replace(x, temperature=0.3) if _late(s) else x)),
    "cap of 4 tokens": replace(BASE, seams=Seams(sampling=lambda x, s: replace(x, cap=4) if _late(s) else x)),
    "stop string cut off": replace(
        BASE, seams=Seams(decoded=lambda t, s: tuple(x.split(">")[0] for x in t) if _late(s) else t)
    ),
    "gradient five times as large": replace(
        BASE, seams=Seams(gradient=lambda g, s: {k: 5 * v for k, v in g.items()} if _late(s) else g)
    ),
    "weights frozen": replace(BASE, seams=Seams(applied=lambda before, after, s: before if _late(s) else after)),
    "sampler 8 updates behind": replace(BASE, seams=Seams(lag=lambda s: 8 if _late(s) else 0)),
    "learning rate times 8": replace(BASE, schedule=lambda step, steps: 8.0 if step > steps // 2 else 1.0),
}


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=4, help="of each healthy recipe")
    parser.add_argument("--simulated", type=int, default=40, help="simulated pairs of each autocorrelation")
    parser.add_argument("--folder", type=Path, default=None, help="where trained runs are kept between two benches")
    args = parser.parse_args()
    begun = time.process_time()
    print("| healthy pairs | pairs | told to part | told to differ from the start | told to be slower |")
    print("|---|---|---|---|---|")
    seeds = range(args.seeds)
    held = {each.name: [trained(each.name, each.recipe, seed, args.folder) for seed in seeds] for each in variants()}
    _row("lab, two seeds", (compare([a], [b]) for runs in held.values() for a, b in combinations(runs, 2)))
    for phi in PHIS:
        _row(f"AR(1), phi {phi}", (compare(*pair) for pair in simulated(phi, args.simulated)))
    _several(held)
    _power(held["healthy-grpo"], args.folder)
    print(f"\n{time.process_time() - begun:.0f} s CPU")


def trained(name: str, recipe: Recipe, seed: int, folder: Path | None) -> Run:
    """A run of the lab without its samples; from the folder where an earlier bench kept it."""
    path = None if folder is None else folder / f"{name.replace(' ', '-')}-{seed}.npz"
    if path is not None and path.is_file():
        with np.load(path) as held:
            names = [each.removeprefix("value/") for each in held.files if each.startswith("value/")]
            columns = {each: (held[f"value/{each}"], held[f"logged/{each}"]) for each in names}
            return _run(held["steps"], columns)
    run = _train(recipe, seed)
    if path is not None:
        values = {f"value/{each}": run.column(each) for each in run.metrics}
        logged = {f"logged/{each}": run.logged(each) for each in run.metrics}
        np.savez_compressed(path, steps=run.steps, **values, **logged)
    return run


def _train(recipe: Recipe, seed: int) -> Run:
    if recipe.algorithm == "dpo":
        from rlprobe.lab.preference import preference

        return run_of(list(preference(recipe, steps=STEPS, seed=seed)))
    return run_of(list(policy_gradient(recipe, steps=STEPS, seed=seed)))


def run_of(records: Sequence[Logged]) -> Run:
    """The run that a log of these records holds."""
    told = [record for record in records if record.metrics]
    names = dict.fromkeys(name for record in told for name in record.metrics)
    columns = {
        name: (
            np.array([record.metrics.get(name, np.nan) for record in told]),
            np.array([name in record.metrics for record in told]),
        )
        for name in names
    }
    return _run(np.array([record.step for record in told], dtype=np.int64), columns)


def _run(steps: IntArray, columns: dict[str, tuple[FloatArray, BoolArray]]) -> Run:
    return Run(MemoryFeed("lab", [Batch(steps=steps, columns=columns, manifest=Manifest(state="closed"))]))


def cut(run: Run, last: int) -> Run:
    """The run as it was at a step."""
    rows = run.steps <= last
    return _run(run.steps[rows], {name: (run.column(name)[rows], run.logged(name)[rows]) for name in run.metrics})


def simulated(phi: float, pairs: int) -> Iterator[tuple[list[Run], list[Run]]]:
    """Pairs of runs of METRICS metrics: AR(1) noise around a course that both share."""
    generator = np.random.default_rng(round(100 * phi))
    for _ in range(pairs):
        sides: tuple[dict[str, FloatArray], dict[str, FloatArray]] = ({}, {})
        for number in range(METRICS):
            course = _course(generator)
            for side in sides:
                side[f"metric-{number}"] = course + _noise(generator, phi)
        runs = [_columns(side) for side in sides]
        yield [runs[0]], [runs[1]]


def _columns(columns: dict[str, FloatArray]) -> Run:
    logged = np.ones(ROWS, dtype=bool)
    return _run(np.arange(ROWS), {name: (values, logged) for name, values in columns.items()})


def _course(generator: np.random.Generator) -> FloatArray:
    time_, kind = np.linspace(0, 1, ROWS), generator.integers(4)
    shapes = (0 * time_, 3 * (1 - np.exp(-4 * time_)), -4 * time_, 3 / (1 + np.exp(-12 * (time_ - 0.5))))
    return np.asarray(shapes[kind])


def _noise(generator: np.random.Generator, phi: float) -> FloatArray:
    shocks = generator.normal(size=ROWS) * np.sqrt(1 - phi * phi)
    out = np.empty(ROWS)
    out[0] = shocks[0] / np.sqrt(1 - phi * phi)
    for row in range(1, ROWS):
        out[row] = phi * out[row - 1] + shocks[row]
    return out


def _row(name: str, comparisons: Iterator[Comparison]) -> None:
    counts = np.zeros(4, dtype=int)
    for found in comparisons:
        counts += (1, bool(found.partings), bool(found.starts), found.speed is not None)
    pairs, *told = counts.tolist()
    print(
        f"| {name} | {pairs} | " + " | ".join(f"{each} ({100 * each / pairs:.1f} %)" for each in told) + " |",
        flush=True,
    )


def _several(held: dict[str, list[Run]]) -> None:
    """Healthy runs of one recipe as two sides; and one recipe against others that differ in one setting."""
    print("\n| several runs a side | runs a side | comparisons | sides told to differ | courses told to part |")
    print("|---|---|---|---|---|")
    alike = [compare(runs[:2], runs[2:4]) for runs in held.values() if len(runs) >= 4]
    _sides_row("one recipe, lab", 2, alike)
    most = min(4, len(held["healthy-grpo"]))
    for count in sorted({2, most}):
        found = [compare(held["healthy-grpo"][:count], held[name][:count]) for name in OTHERS]
        _sides_row(f"healthy-grpo and {', '.join(OTHERS)}", count, found)


def _sides_row(name: str, count: int, found: Sequence[Comparison]) -> None:
    told = [sum(bool(each.sides) for each in found), sum(bool(each.partings) for each in found)]
    print(f"| {name} | {count} | {len(found)} | {told[0]} | {told[1]} |", flush=True)


def _power(healthy: Sequence[Run], folder: Path | None) -> None:
    """Each fault against a healthy run of the same and of another seed."""
    print(
        "\n| fault at half of the run | seed | told | step told less its true step, median | steps until told, median |"
    )
    print("|---|---|---|---|---|")
    totals, seeds = np.zeros(2, dtype=int), min(POWER_SEEDS, len(healthy))
    onset = STEPS // 2 + 1
    for name, recipe in FAULTS.items():
        faulty = [trained(name, recipe, seed, folder) for seed in range(seeds)]
        for told, partner in (("same", 0), ("other", 1)):
            pairs = [(healthy[(seed + partner) % seeds], faulty[seed]) for seed in range(seeds)]
            found = [compare([a], [b]) for a, b in pairs]
            seen = [(pair, each) for pair, each in zip(pairs, found, strict=True) if each.partings]
            errors = [each.partings[0].parting.step - onset for _, each in seen]
            delays = [_delay(*pair) for pair, _ in seen]
            totals += (len(seen), len(pairs))
            middle = (f"{np.median(errors):+.0f}", f"{np.median(delays):.0f}") if seen else ("", "")
            print(f"| {name} | {told} | {len(seen)}/{len(pairs)} | {middle[0]} | {middle[1]} |", flush=True)
    print(f"| all | | {totals[0]}/{totals[1]} | | |")


def _delay(ours: Run, theirs: Run) -> float:
    """Steps behind the fault after which a comparison of the runs so far tells it."""
    for delay in DELAYS:
        last = STEPS // 2 + delay
        if compare([cut(ours, last)], [cut(theirs, last)]).partings:
            return float(delay)
    return float("inf")


if __name__ == "__main__":
    main()
