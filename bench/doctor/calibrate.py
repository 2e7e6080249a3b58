"""Measure how often findings are right, and write the confidence table: `python -m bench.doctor.calibrate`.

A warning or critical finding is right when its run failed and it answers one of the run's labels, or stands as a
consequence in an incident whose root or other members do; on a healthy run, or in an incident of its own beside the
labels, it is wrong. Lab runs of odd seeds count with the signatures that their fault names.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from bench.doctor import corpus, laboratory
from rlprobe.doctor import calibration
from rlprobe.doctor.catalog import entries
from rlprobe.doctor.finding import Diagnosis, Finding

TABLE = Path(calibration.__file__).with_name("table.json")
PAGE = Path(__file__).parents[2] / "docs" / "calibration.md"
FOLDS = 5  # parts of the corpus, by run; each is predicted from the others
SEEDS = (1,)  # lab seeds that count: odd, because no threshold was set on odd ones


@dataclass(frozen=True, slots=True)
class Told:
    """One alarm on the corpus: its run, signature and arm, and whether it was right."""

    run: str
    id: str
    arm: str
    right: bool


def main() -> None:
    """Write the table and the page, and print what stands in them."""
    told, digest = _told()
    table = {
        "corpus": digest,
        "arms": _counts(told, lambda one: one.arm),
        "signatures": _counts(told, lambda one: one.id),
    }
    TABLE.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
    page = _page(told, digest)
    PAGE.write_text(page, encoding="utf-8")
    print(page)


def _told() -> tuple[list[Told], str]:
    arms = {entry.signature.id: entry.signature.arm for entry in entries()}
    digest, told = hashlib.sha256(), []
    for one in corpus.read(frozenset({"healthy", "failing"})):
        digest.update(one.label.text())
        for found in one.alarms:
            right = one.label.verdict == "failing" and _answers(found, one.diagnosis, one.wanted)
            told.append(Told(one.label.id, found.id, arms[found.id], right))
    for run in laboratory.read(seeds=SEEDS):
        name = f"{run.name}/{run.seed}"
        digest.update(name.encode())
        for found in run.alarms:
            right = _answers(found, run.diagnosis, frozenset(run.expected))
            told.append(Told(name, found.id, arms[found.id], right))
    return told, digest.hexdigest()[:16]


def _answers(found: Finding, diagnosis: Diagnosis, wanted: frozenset[str]) -> bool:
    """Whether a finding answers a label itself, or follows in an incident that does."""
    ids = {one.key: one.id for one in diagnosis.findings}
    incident = next(one for one in diagnosis.incidents if found.key in one.members)
    return found.id in wanted or (not found.root and any(ids[key] in wanted for key in incident.members))


def _counts(told: Iterable[Told], of: Callable[[Told], str]) -> dict[str, list[int]]:
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for one in told:
        counts[of(one)][0] += one.right
        counts[of(one)][1] += 1
    return dict(sorted(counts.items()))


def _page(told: list[Told], digest: str) -> str:
    lines = [
        "# How sure a finding is",
        "",
        "Confidence is a measured frequency: of the warnings and critical findings of a kind on the labelled corpus,",
        "the fraction that answered a label of their run, or followed in an incident that does. A true finding that no",
        "reader listed and that stands alone counts as wrong.",
        "This page and the table that ships are written by `python -m bench.doctor.calibrate`.",
        "",
        "The real runs were in sight when thresholds were set, the lab's seed was not: on unseen sources expect less.",
        "",
        f"Corpus {digest}: real runs and lab runs of seed {', '.join(map(str, SEEDS))}; {len(told)} alarms.",
        "",
        "| evidence arm | right | frequency | 95 % interval |",
        "| --- | --- | --- | --- |",
        *(_row(name, *counts) for name, counts in _counts(told, lambda one: one.arm).items()),
        "",
        f"A signature speaks for itself from {calibration.ENOUGH} alarms on; below that its arm speaks for it.",
        "",
        "| signature | right | frequency | 95 % interval |",
        "| --- | --- | --- | --- |",
        *(_row(name, *counts) for name, counts in _counts(told, lambda one: one.id).items()),
        "",
        "## Does the number keep its word?",
        "",
        f"Each alarm is predicted from the other parts of the corpus ({FOLDS} parts, whole runs), then counted.",
        "",
        "| predicted | alarms | right |",
        "| --- | --- | --- |",
        *_reliability(told),
        "",
    ]
    return "\n".join(lines)


def _row(name: str, right: int, count: int) -> str:
    low, high = calibration.wilson(right, count)
    return f"| {name} | {right} of {count} | {right / count:.2f} | {low:.2f} to {high:.2f} |"


def _reliability(told: list[Told]) -> list[str]:
    bins: dict[float, list[int]] = defaultdict(lambda: [0, 0])
    for fold in range(FOLDS):
        rest = [one for one in told if _fold(one) != fold]
        arms, ids = _counts(rest, lambda one: one.arm), _counts(rest, lambda one: one.id)
        for one in told:
            if _fold(one) == fold and one.arm in arms:
                place = bins[round(_predicted(one, arms, ids), 1)]
                place[0] += one.right
                place[1] += 1
    return [f"| about {level:.1f} | {count} | {right / count:.2f} |" for level, (right, count) in sorted(bins.items())]


def _predicted(one: Told, arms: dict[str, list[int]], ids: dict[str, list[int]]) -> float:
    arm_rate = arms[one.arm][0] / arms[one.arm][1]
    right, count = ids.get(one.id, (0, 0))
    if count < calibration.ENOUGH:
        return arm_rate
    return (right + calibration.PRIOR * arm_rate) / (count + calibration.PRIOR)


def _fold(one: Told) -> int:
    return hashlib.sha256(one.run.encode()).digest()[0] % FOLDS


if __name__ == "__main__":
    main()
