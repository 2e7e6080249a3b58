"""The doctor measured: real runs, field cases, the lab, healthy noise, speed.

`python -m bench.doctor` prints every table; `--full` trains the lab on more seeds; `--keep` adds a line of history.
"""

import argparse
import json
import platform
import subprocess
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path

from bench.doctor import corpus, field_cases, laboratory, noise, speed
from bench.doctor.laboratory import fraction, median
from rlprobe import lab

HISTORY = Path(__file__).with_name("history.jsonl")
KEPT_SEEDS = range(64)  # healthy lab runs of these seeds count where they were trained before
LATE = 0.1  # fraction of a run after which an onset counts as late


def main() -> None:
    """Print the tables, and keep their totals when asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="train the lab on eight seeds instead of two")
    parser.add_argument("--runs", type=int, default=300, help="simulated healthy runs")
    parser.add_argument("--keep", action="store_true", help="append the totals to history.jsonl")
    arguments = parser.parse_args()
    totals: dict[str, object] = {}
    totals |= real_runs()
    totals |= field_cases.main()
    totals |= lab_runs(tuple(range(8)) if arguments.full else (0, 1))
    totals |= noise.measure(arguments.runs, 400)
    totals |= speed.measure()
    if arguments.keep:
        _keep(totals)


def real_runs() -> dict[str, object]:
    """The labelled real runs: false alarms, hits, first findings, onsets, by label and by repository."""
    runs = list(corpus.read())
    healthy = [one for one in runs if one.label.verdict == "healthy"]
    failing = [one for one in runs if one.label.verdict == "failing"]
    print("\n## Real runs")
    if not runs:
        print("the labelled corpus is not here; set RLPROBE_SHARED_DATA")
        return {}
    false = [one for one in healthy if one.alarms]
    critical = sum(any(f.severity == "critical" for f in one.alarms) for one in healthy)
    rows = sum(one.diagnosis.rows for one in healthy)
    count = sum(len(one.alarms) for one in healthy)
    print(f"healthy: {fraction(len(false), len(healthy))} with an alarm, {critical} critical;", end=" ")
    print(f"{count} alarms in {rows} rows = {1000 * count / rows:.2f} a 1000")
    hits, first = sum(one.hit for one in failing), sum(one.first for one in failing)
    print(
        f"failing: named {fraction(hits, len(failing))}, first alarm among the labels {fraction(first, len(failing))}"
    )
    print("missed:", ", ".join(one.label.id for one in failing if not one.hit) or "none")
    _by_label(failing)
    _by_signature(runs)
    _by_repository(healthy, failing)
    late = _onsets(failing)
    told: dict[str, object] = {"healthy_runs": len(healthy), "healthy_alarms": len(false), "healthy_critical": critical}
    return told | {"failing_runs": len(failing), "failing_named": hits, "failing_first": first} | late


def _by_label(failing: list[corpus.Read]) -> None:
    found: dict[str, list[bool]] = defaultdict(list)
    for one in failing:
        ids = {finding.id for finding in one.alarms}
        for label in one.label.findings:
            found[label].append(bool(ids & corpus.answers(label)))
    print("\nlabel: runs in which an alarm answers it")
    for label, hits in sorted(found.items(), key=lambda item: -len(item[1])):
        print(f"  {label:28} {sum(hits)}/{len(hits)}")


def _by_signature(runs: list[corpus.Read]) -> None:
    told: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for one in runs:
        for finding in one.alarms:
            place = {"healthy": 3, "ambiguous": 2}.get(one.label.verdict, 0 if finding.id in one.wanted else 1)
            told[finding.id][place] += 1
    print("\nsignature: alarms that answer a label, beside the labels, on ambiguous runs, on healthy runs")
    for id, counts in sorted(told.items()):
        print(f"  {id:28} {counts[0]:3} {counts[1]:3} {counts[2]:3} {counts[3]:3}")


def _by_repository(healthy: list[corpus.Read], failing: list[corpus.Read]) -> None:
    groups: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for one in healthy:
        groups[one.label.repository][0] += bool(one.alarms)
        groups[one.label.repository][1] += 1
    for one in failing:
        groups[one.label.repository][2] += one.hit
        groups[one.label.repository][3] += 1
    print("\nrepository: healthy runs alarmed, failing runs named")
    for name, (alarmed, calm, named, failed) in sorted(groups.items()):
        print(f"  {name.removeprefix('https://github.com/'):48} {alarmed}/{calm}  {named}/{failed}")


def _onsets(failing: list[corpus.Read]) -> dict[str, object]:
    errors: list[float] = []
    for one in failing:
        span, label = one.diagnosis.steps, one.label.onset_step
        answering = [finding for finding in one.alarms if finding.id in one.wanted]
        if span is None or label is None or label - span[0] <= LATE * (span[1] - span[0]):
            continue
        length = span[1] - span[0]
        errors.append(min((abs(f.onset_step - label) / length for f in answering), default=1.0))
    placed = sum(error <= 0.1 for error in errors)
    error = 100 * median(errors)
    print(f"\nlate onsets: {fraction(placed, len(errors))} placed within 10 % of the run, median error {error:.0f} %")
    _delays([(_answer(one), one.label.onset_step, one.diagnosis.steps) for one in failing])
    return {"late_onsets": len(errors), "late_placed": placed}


def _answer(one: corpus.Read) -> int | None:
    """Step at which an alarm that answers a label was first there: live and post-hoc reading agree."""
    return min((found.detected_step for found in one.alarms if found.id in one.wanted), default=None)


def _delays(found: list[tuple[int | None, int | None, tuple[int, int] | None]]) -> None:
    """Print how long after the onset a live reader is told: (step told, onset, first and last step) of each run."""
    late = [
        (told - onset, (told - onset) / max(1, span[1] - span[0]))
        for told, onset, span in found
        if told is not None and onset is not None and span is not None
    ]
    steps, part = median([float(one) for one, _ in late]), median([one for _, one in late])
    print(f"told live {steps:.0f} steps after the onset, {100 * part:.0f} % of the run: medians of {len(late)} runs")


def lab_runs(seeds: tuple[int, ...]) -> dict[str, object]:
    """The lab: recall by fault, false alarms on healthy variants, onsets. Odd seeds, unseen by any threshold, apart."""
    print("\n## Lab")
    runs = list(laboratory.read(seeds=seeds))
    kept = tuple(seed for seed in KEPT_SEEDS if seed not in seeds)
    runs += laboratory.read(seeds=kept, names=tuple(one.name for one in lab.variants()), kept=True)
    faulty, healthy = [one for one in runs if one.expected], [one for one in runs if not one.expected]
    for name in sorted({one.name for one in faulty}):
        same = [one for one in faulty if one.name == name]
        missed = [f"{one.seed}: {', '.join(f.id for f in one.told[:3]) or 'nothing'}" for one in same if not one.headed]
        others = f"; told first on seed {'; on '.join(missed)}" if missed else ""
        print(
            f"  {name:28} named {sum(one.named for one in same)}/{len(same)}, first {len(same) - len(missed)}{others}"
        )
    odd = [one for one in faulty if one.seed % 2]
    hits, first = sum(one.named for one in faulty), sum(one.headed for one in faulty)
    unseen = f"odd seeds {fraction(sum(one.named for one in odd), len(odd))}"
    print(f"faults: named {fraction(hits, len(faulty))} ({unseen}), first {fraction(first, len(faulty))}")
    alarmed = [f"{one.name}/{one.seed}: {', '.join(f.id for f in one.alarms)}" for one in healthy if one.alarms]
    print(f"healthy: {fraction(len(alarmed), len(healthy))} with an alarm{': ' if alarmed else ''}{'; '.join(alarmed)}")
    _lab_onsets(faulty)
    return {
        "lab_faults": len(faulty),
        "lab_named": hits,
        "lab_first": first,
        "lab_healthy": len(healthy),
        "lab_false": len(alarmed),
    }


def _lab_onsets(faulty: list[laboratory.LabRun]) -> None:
    for words, late in (("from the first step", False), ("later", True)):
        errors = [
            (one.onset_error, f"{one.name}/{one.seed}")
            for one in faulty
            if one.onset_error is not None and one.onset is not None and (one.onset > 1) == late
        ]
        middle = 100 * median([error for error, _ in errors])
        far = [f"{name} {100 * error:.0f} %" for error, name in errors if error > LATE]
        print(
            f"onset {words}: median error {middle:.1f} % of {len(errors)} runs; beyond 10 %: {', '.join(far) or 'none'}"
        )

    told = [
        (min((f.detected_step for f in one.told if f.id in one.expected), default=None), one.onset, one.diagnosis.steps)
        for one in faulty
    ]
    _delays(told)


def _keep(totals: dict[str, object]) -> None:
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    ).stdout.strip()
    machine = f"{platform.machine()} Python {platform.python_version()}"
    line = {"time": datetime.now(UTC).isoformat(timespec="seconds"), "commit": commit, "machine": machine} | totals
    with HISTORY.open("a", encoding="utf-8") as history:
        history.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
