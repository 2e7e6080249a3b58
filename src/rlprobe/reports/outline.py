"""The order in which a Diagnosis is read, shared by every page: incidents, other findings, silences. Makes no text."""

from dataclasses import dataclass

from rlprobe.doctor.finding import Diagnosis, Finding, Incident, NotChecked


@dataclass(frozen=True, slots=True, kw_only=True)
class Chapter:
    """One incident with its findings instead of their keys: the root, and what followed in the incident's own order."""

    incident: Incident
    root: Finding
    consequences: tuple[Finding, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Silence:
    """Signatures that were not judged for one reason: the same missing metrics, or too few rows, or disabled."""

    reason: str
    missing: tuple[str, ...]
    entries: tuple[NotChecked, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """A Diagnosis as chapters: every finding stands in exactly one place."""

    chapters: tuple[Chapter, ...]
    others: tuple[Finding, ...]
    silences: tuple[Silence, ...]


def outline(diagnosis: Diagnosis) -> Outline:
    """Arrange a diagnosis for reading; the order within each part is the diagnosis's own."""
    by_key = {finding.key: finding for finding in diagnosis.findings}
    chapters = []
    told: set[str] = set()
    for incident in diagnosis.incidents:
        root = by_key.get(incident.root)
        if root is None or root.key in told:
            continue
        told.add(root.key)
        followers = [key for key in incident.members if key in by_key and key not in told]
        told.update(followers)
        chapters.append(Chapter(incident=incident, root=root, consequences=tuple(by_key[key] for key in followers)))
    others = tuple(finding for finding in diagnosis.findings if finding.key not in told)
    return Outline(chapters=tuple(chapters), others=others, silences=_silences(diagnosis.not_checked))


def _silences(entries: tuple[NotChecked, ...]) -> tuple[Silence, ...]:
    groups: dict[tuple[str, tuple[str, ...]], list[NotChecked]] = {}
    for entry in entries:
        groups.setdefault((entry.reason, entry.missing if entry.reason == "missing" else ()), []).append(entry)
    return tuple(
        Silence(reason=reason, missing=missing, entries=tuple(group)) for (reason, missing), group in groups.items()
    )
