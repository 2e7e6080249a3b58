"""python -m bench.catalog: the curves that the catalog's pages draw, from lab runs trained for real.

The runs are those of `bench.doctor` (kept in its cache, trained where they are missing): the first fault whose root is
the signature, beside the healthy variant that resembles it.
"""

import json
from functools import cache
from pathlib import Path

import numpy as np

from bench.doctor.laboratory import KEPT as RUNS
from bench.doctor.laboratory import STEPS
from rlprobe import diagnose, lab, open_run
from rlprobe.doctor import charts
from rlprobe.doctor.catalog import entries, entry
from rlprobe.doctor.charts import POINTS
from rlprobe.recording.metrics import find
from rlprobe.recording.run import Run

KEPT = Path(charts.__file__).with_name("charts.json")
SEEDS = (0, 1)
CURVES = 3  # of a chart, the primary metric first
PLAIN = "healthy-grpo"  # beside faults that no healthy variant resembles


def main() -> None:
    """Write the table and say how large it is."""
    table = {}
    for each in entries():
        if each.module.startswith("rlprobe."):
            table[each.signature.id] = _chart(each.signature.id)
    KEPT.write_text(_document(table), encoding="utf-8")
    drawn = sum(len(row["curves"]) for row in table.values() if isinstance(row["curves"], list))
    print(f"{len(table)} charts, {drawn} metrics, {KEPT.stat().st_size:,} bytes in {KEPT.name}")


def _document(table: dict[str, dict[str, object]]) -> str:
    """One signature a line, so that a change is read as one."""
    lines = [f"{json.dumps(id)}: {json.dumps(row, separators=(',', ':'))}" for id, row in sorted(table.items())]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _chart(id: str) -> dict[str, object]:
    """The first run that shows it: faults of which it is the root before those that lead to it, seed by seed."""
    roots = [fault for fault in lab.faults() if fault.signatures[0] == id]
    others = [fault for fault in lab.faults() if id in fault.signatures[1:]]
    for fault, seed in [(fault, seed) for faults in (roots, others) for seed in SEEDS for fault in faults]:
        run = _run(fault.name, seed)
        found = next((one for one in diagnose(run).findings if one.id == id), None)
        if found is not None:
            shown = [line.metric for line in found.evidence]
            return _drawn(id, fault.name, seed, shown, (found.onset_step, found.detected_step))
    print(f"{id}: not told in its own fault; drawn from the fault's onset")
    onset = 1 + int((roots[0].onset or 0.0) * STEPS)
    return _drawn(id, roots[0].name, SEEDS[0], list(entry(id).signature.shows), (onset, 0))


def _drawn(id: str, fault: str, seed: int, shown: list[str], told: tuple[int, int]) -> dict[str, object]:
    run = _run(fault, seed)
    metrics = [metric for metric in dict.fromkeys(shown) if metric in run.metrics and run.logged(metric).any()][:CURVES]
    calm = _look_alike(id, metrics[0], seed)
    beside = _run(calm, seed)
    return {
        "fault": fault, "calm": calm, "seed": seed, "steps": STEPS,
        "onset": told[0], "detected": told[1],
        "curves": [
            {
                "log": metric == metrics[0] and _logarithmic(id, run, beside, metric),
                "metric": metric, "unit": getattr(find(metric), "unit", ""), "fault": _means(run, metric),
                "calm": _means(beside, metric),
            }
            for metric in metrics
        ],
    }  # fmt: skip


def _logarithmic(id: str, run: Run, beside: Run, metric: str) -> bool:
    """Whether the signature judges the metric by ratios and both curves can be drawn so."""
    values = [value for each in (run, beside) for value in _means(each, metric) if value is not None]
    return entry(id).signature.scale == "log" and min(values) > 0


def _look_alike(id: str, metric: str, seed: int) -> str:
    """The healthy variant that the lab lists for the signature; the plain one where none logs the metric."""
    for one in lab.variants():
        if id in one.look_alike_of and _means(_run(one.name, seed), metric):
            return one.name
    return PLAIN


def _means(run: Run, metric: str) -> list[float | None]:
    """Means over POINTS equal stretches of steps; None where a stretch holds a value that is not finite, or none."""
    if metric not in run.metrics:
        return []
    values, logged = run.column(metric), run.logged(metric)
    out: list[float | None] = []
    for place in range(POINTS):
        inside = logged & ((run.steps - 1) * POINTS // STEPS == place)
        mean = float(np.mean(values[inside])) if inside.any() and np.isfinite(values[inside]).all() else float("nan")
        out.append(float(f"{mean:.3g}") if np.isfinite(mean) else None)
    return out


@cache
def _run(name: str, seed: int) -> Run:
    folder = RUNS / f"{name}-{seed}-{STEPS}"
    if not folder.exists():
        lab.train(name, folder, steps=STEPS, seed=seed)
    return open_run(folder)


if __name__ == "__main__":
    main()
