"""Measure how often findings are right, and write the confidence table: `python -m bench.doctor.calibrate`.

A warning or critical finding is right when its run failed and it answers one of the run's labels; on a healthy run, or
beside the labels, it is wrong. Lab runs of odd seeds count with the signatures that their fault names.
"""

import hashlib
import json
from collections import Counter
from pathlib import Path

from bench.doctor import corpus, laboratory
from rlprobe.doctor import calibration
from rlprobe.doctor.catalog import entries

TABLE = Path(calibration.__file__).with_name("table.json")


def main() -> None:
    """Write the table and print it with its intervals."""
    right: Counter[str] = Counter()
    total: Counter[str] = Counter()
    digest = hashlib.sha256()
    for one in corpus.read(frozenset({"healthy", "failing"})):
        digest.update(one.label.text())
        for finding in one.alarms:
            total[finding.id] += 1
            right[finding.id] += one.label.verdict == "failing" and finding.id in one.wanted
    for run in laboratory.read(seeds=(1, 3)):
        digest.update(f"{run.name} {run.seed} {run.steps}".encode())
        for finding in run.alarms:
            total[finding.id] += 1
            right[finding.id] += finding.id in run.expected
    arms: dict[str, list[int]] = {}
    for entry in entries():
        counts = arms.setdefault(entry.signature.arm, [0, 0])
        counts[0] += right[entry.signature.id]
        counts[1] += total[entry.signature.id]
    table = {
        "corpus": digest.hexdigest()[:16],
        "arms": {arm: counts for arm, counts in sorted(arms.items()) if counts[1]},
        "signatures": {id: [right[id], total[id]] for id in sorted(total)},
    }
    TABLE.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
    for name, (hits, count) in [*table["arms"].items(), *table["signatures"].items()]:
        low, high = calibration.wilson(hits, count)
        print(f"{name:28} right {hits:3}/{count:<3} = {hits / count:.2f} ({low:.2f} to {high:.2f})")


if __name__ == "__main__":
    main()
