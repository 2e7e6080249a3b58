"""From one diagnosis to the next: which findings are new, worse, eased, recovered or withdrawn since they were told."""

from dataclasses import dataclass
from typing import Literal

from rlprobe.doctor.finding import SEVERITIES, Diagnosis, Finding
from rlprobe.guardian.memory import RunMemory, Told

Kind = Literal["new", "worse", "eased", "recovered", "withdrawn", "passed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One finding's step from what was told to what is.

    Attributes:
        kind: "passed" came and went between two looks; "withdrawn" is what a rewind of training, or a value that came
            late, took back.
        name: id with subject.
        finding: as it is now; None when withdrawn.
        severity: of the finding as it is now, or as it was told when it is over.
    """

    kind: Kind
    name: str
    finding: Finding | None
    severity: str


def name_of(finding: Finding) -> str:
    """The name under which a finding is followed: at most one episode of it is told at a time."""
    return finding.id if finding.subject is None else f"{finding.id}[{finding.subject}]"


def rank(severity: str) -> int:
    """0 for the most severe; past the end for none."""
    return SEVERITIES.index(severity) if severity in SEVERITIES else len(SEVERITIES)


def follow(memory: RunMemory, diagnosis: Diagnosis) -> list[Change]:
    """Changes since the last call, in reading order; the memory is brought up to date."""
    changes = []
    present = {name_of(finding): finding for finding in diagnosis.findings}
    for name, finding in present.items():
        before = memory.told.get(name)
        kind = _kind(before, finding, memory.judged)
        if kind is not None:
            severity = before.severity if before is not None and kind == "recovered" else finding.severity
            changes.append(Change(kind=kind, name=name, finding=finding, severity=severity))
        memory.told[name] = _told(before, finding, again=kind == "new")
    for name, told in memory.told.items():
        if name not in present and told.active:
            changes.append(Change(kind="withdrawn", name=name, finding=None, severity=told.severity))
            told.active = False
    memory.judged = diagnosis.steps[1] if diagnosis.steps is not None else memory.judged
    return changes


def _kind(before: Told | None, finding: Finding, judged: int | None) -> Kind | None:
    active = finding.status == "active"
    if before is None:
        return "new" if active else "passed"
    if not before.active:
        if active:
            return "new"
        return "passed" if judged is not None and finding.detected_step > max(judged, before.detected) else None
    if not active:
        return "recovered"
    if judged is not None and finding.detected_step > max(judged, before.detected):
        return "new"  # the episode that was told is over and another one began, both since the last look
    if rank(finding.severity) == rank(before.severity):
        return None
    return "worse" if rank(finding.severity) < rank(before.severity) else "eased"


def _told(before: Told | None, finding: Finding, *, again: bool) -> Told:
    active = finding.status == "active"
    kept = before if before is not None and not again else None
    return Told(
        id=finding.id,
        subject=finding.subject,
        severity=finding.severity if active or before is None else before.severity,
        detected=finding.detected_step,
        active=active,
        alerted=kept.alerted if kept else "",
        group=kept.group if kept else -1,
    )
