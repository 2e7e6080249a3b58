"""The labelled real runs, diagnosed: which findings answer which labels."""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.support.corpus import Label, labels, opened

from rlprobe.doctor.catalog import entries
from rlprobe.doctor.engine import diagnose
from rlprobe.doctor.finding import Diagnosis, Finding

IDS = Path(__file__).with_name("ids.csv")


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """One labelled run and what the doctor says of it."""

    label: Label
    diagnosis: Diagnosis

    @property
    def alarms(self) -> tuple[Finding, ...]:
        """Findings of severity critical or warning, in printed order."""
        return tuple(one for one in self.diagnosis.findings if one.severity != "info")

    @property
    def wanted(self) -> frozenset[str]:
        """Ids that answer one of the run's labels."""
        return frozenset().union(*(answers(one) for one in self.label.findings))

    @property
    def hit(self) -> bool:
        """Whether an alarm answers a label."""
        return any(one.id in self.wanted for one in self.alarms)

    @property
    def first(self) -> bool:
        """Whether the first printed alarm answers a label."""
        return bool(self.alarms) and self.alarms[0].id in self.wanted


def answers(label: str) -> frozenset[str]:
    """Ids of the signatures that answer a label of the corpus."""
    return frozenset({label}) | frozenset(id for id, known in _answered().items() if label in known)


def read(verdicts: frozenset[str] | None = None) -> Iterator[Read]:
    """Diagnose every labelled run; nothing where the corpus is not to be had."""
    for label in labels():
        if verdicts is not None and label.verdict not in verdicts:
            continue
        yield Read(label=label, diagnosis=diagnose(opened(label)))


def _answered() -> dict[str, frozenset[str]]:
    with IDS.open(encoding="utf-8", newline="") as lines:
        return {row["id"]: frozenset(filter(None, row["labels"].split(";"))) for row in csv.DictReader(lines)}


def missing_from_catalog() -> list[str]:
    """Ids of ids.csv for which there is no signature."""
    return sorted(_answered().keys() - {entry.signature.id for entry in entries()})
