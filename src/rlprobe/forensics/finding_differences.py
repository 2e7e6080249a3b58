"""Findings that one side has and the other has not."""

from collections.abc import Sequence
from dataclasses import dataclass

from rlprobe.doctor.finding import SEVERITIES, Diagnosis, Finding, Severity


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingDifference:
    """One kind of finding and in how many runs of each side it is.

    Attributes:
        id, subject: what it is.
        severity, title: of the first run that has it.
        ours, theirs: onset step in each run that has it.
        runs: runs of each side.
    """

    id: str
    subject: str | None
    severity: Severity
    title: str
    ours: tuple[int, ...]
    theirs: tuple[int, ...]
    runs: tuple[int, int]

    @property
    def on_one_side(self) -> bool:
        """Whether only one side has it."""
        return not self.ours or not self.theirs


def finding_differences(ours: Sequence[Diagnosis], theirs: Sequence[Diagnosis]) -> list[FindingDifference]:
    """Every kind of finding, those of one side first, the most severe first."""
    first: dict[tuple[str, str | None], Finding] = {}
    onsets: tuple[dict[tuple[str, str | None], list[int]], ...] = ({}, {})
    for side, diagnoses in zip(onsets, (ours, theirs), strict=True):
        for diagnosis in diagnoses:
            newest = {(finding.id, finding.subject): finding for finding in reversed(diagnosis.findings)}
            for key, finding in newest.items():
                first.setdefault(key, finding)
                side.setdefault(key, []).append(finding.onset_step)
    found = [
        FindingDifference(
            id=finding.id,
            subject=finding.subject,
            severity=finding.severity,
            title=finding.title,
            ours=tuple(onsets[0].get(key, ())),
            theirs=tuple(onsets[1].get(key, ())),
            runs=(len(ours), len(theirs)),
        )
        for key, finding in first.items()
    ]
    return sorted(
        found, key=lambda each: (not each.on_one_side, SEVERITIES.index(each.severity), each.id, each.subject or "")
    )
