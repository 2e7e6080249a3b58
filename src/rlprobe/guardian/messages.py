"""Which news are worth a message, when it may go out, and what it says.

What came together is told together: one message covers an incident, and it is told again only when it gets worse than
what was told, or when all of it has recovered. The memory holds what every message covered.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rlprobe.doctor.finding import Diagnosis, Finding
from rlprobe.guardian.following import name_of, rank
from rlprobe.guardian.memory import RunMemory, Told
from rlprobe.guardian.settings import GuardianSettings, Occasion
from rlprobe.reports import phrases
from rlprobe.reports.format import argument, plain

DAY = 86_400.0
_MOST_FINDINGS = 6  # that one message spells out
_MOST_EVIDENCE = 3  # lines of a finding
Urgency = Literal["failure", "warning", "success", "info"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """What is sent: a title, a body in plain text, and how urgent it is, in the words of the apprise library."""

    occasion: Occasion
    title: str
    body: str
    urgency: Urgency


def due(memory: RunMemory, diagnosis: Diagnosis, settings: GuardianSettings, now: float) -> list[Message]:
    """Messages on findings that may go out now; the memory notes what they cover.

    What has to wait (cooldown, cap) stays unnoted, and so is due later if it still holds then.
    """
    out = []
    _cover_newcomers(memory, diagnosis, settings)
    rising = [name for name, told in memory.told.items() if _uncovered(told, settings)]
    if rising and _may(memory, settings, now, urgent=_worse_than_all(memory, rising)):
        out.append(_risen(memory, diagnosis, rising))
    calm = _calmed(memory)
    if calm and _may(memory, settings, now, urgent="recovered" not in settings.tell):
        out.append(_recovered(memory, diagnosis, calm))
    wanted = [one for one in out if one.occasion in settings.tell]
    if wanted:
        memory.message_sent(now)
    return wanted


def plain_message(
    occasion: Occasion, title: str, body: str, memory: RunMemory, settings: GuardianSettings, now: float
) -> list[Message]:
    """A message that is about the run as a whole: it does not wait, but it counts."""
    if occasion not in settings.tell or not _may(memory, settings, now, urgent=True):
        return []
    memory.message_sent(now)
    return [Message(occasion=occasion, title=title, body=body, urgency="failure" if occasion == "died" else "info")]


def run_name(source: str) -> str:
    """A run's short name: the last two parts of its path."""
    return plain("/".join(Path(source).parts[-2:]) or source)


def _uncovered(told: Told, settings: GuardianSettings) -> bool:
    worth = rank(told.severity) <= rank(settings.severity)
    return told.active and worth and rank(told.severity) < rank(told.alerted)


def _cover_newcomers(memory: RunMemory, diagnosis: Diagnosis, settings: GuardianSettings) -> None:
    """What joins an incident that was told at its severity or above is covered by that message."""
    names = {one.key: name_of(one) for one in diagnosis.findings}
    for incident in diagnosis.incidents:
        members = [memory.told[names[key]] for key in incident.members]
        told = [one for one in members if one.active and one.alerted]
        if not told:
            continue
        worst, group = min((one.alerted for one in told), key=rank), min(one.group for one in told)
        for one in members:
            if one.active and not one.alerted and rank(worst) <= rank(one.severity) <= rank(settings.severity):
                one.alerted, one.group = worst, group


def _worse_than_all(memory: RunMemory, rising: Iterable[str]) -> bool:
    """Whether something rose above everything that is covered now."""
    covered = min((rank(one.alerted) for one in memory.told.values() if one.active), default=rank(""))
    return min(rank(memory.told[name].severity) for name in rising) < covered


def _may(memory: RunMemory, settings: GuardianSettings, now: float, *, urgent: bool) -> bool:
    recent = [sent for sent in memory.messages if now - DAY < sent <= now]
    if len(recent) >= settings.messages_a_day:
        return False
    return urgent or not recent or now - recent[-1] >= settings.cooldown_seconds


def _risen(memory: RunMemory, diagnosis: Diagnosis, rising: list[str]) -> Message:
    by_name = {name_of(one): one for one in diagnosis.findings}
    groups = {name_of(one): _incident(one, diagnosis) for one in diagnosis.findings}
    occasion: Occasion = "new" if any(not memory.told[name].alerted for name in rising) else "worse"
    touched = {name for one in rising for name in groups[one] if memory.told[name].active}
    number = 1 + max((one.group for one in memory.told.values()), default=-1)
    for name in touched:
        told = memory.told[name]
        if rank(told.severity) <= rank("warning"):
            told.alerted, told.group = min(told.severity, told.alerted or told.severity, key=rank), number
    shown = [one for one in diagnosis.findings if name_of(one) in touched and one.severity != "info"]
    head = min((by_name[name] for name in rising), key=lambda one: (rank(one.severity), not one.root))
    worst = head.severity.upper()
    title = f"{worst}: {phrases.name(head)} in {run_name(diagnosis.source)} since step {head.onset_step}"
    body = "\n\n".join(_told_finding(one) for one in shown[:_MOST_FINDINGS])
    if len(shown) > _MOST_FINDINGS:
        body += f"\n\nand {len(shown) - _MOST_FINDINGS} more"
    urgency: Urgency = "failure" if head.severity == "critical" else "warning"
    page = f"rlprobe explain {plain(head.page)}\n" if head.page else ""
    return Message(occasion=occasion, title=title, body=f"{body}\n\n{page}{_more(diagnosis)}", urgency=urgency)


def _incident(finding: Finding, diagnosis: Diagnosis) -> set[str]:
    names = {one.key: name_of(one) for one in diagnosis.findings}
    member = next((one.members for one in diagnosis.incidents if finding.key in one.members), (finding.key,))
    return {names[key] for key in member}


def _calmed(memory: RunMemory) -> list[str]:
    """Names of told findings whose whole group is over, or harmless by now."""
    going = {one.group for one in memory.told.values() if one.alerted and _harmful(one)}
    return [name for name, one in memory.told.items() if one.alerted and one.group not in going]


def _harmful(told: Told) -> bool:
    return told.active and told.severity != "info"


def _recovered(memory: RunMemory, diagnosis: Diagnosis, names: list[str]) -> Message:
    by_name = {name_of(one): one for one in diagnosis.findings}
    lines = []
    for name in names:
        found = by_name.get(name)
        gone = "does not hold any more: training went back, or a value came late"
        calm = "has a harmless reason by now" if found is not None and found.status == "active" else ""
        lines.append(f"{plain(name)} {gone if found is None else calm or phrases.status(found)}.")
    for name in names:
        memory.told[name].alerted, memory.told[name].group = "", -1
    title = f"RECOVERED: {', '.join(map(plain, names))} in {run_name(diagnosis.source)}"
    return Message(occasion="recovered", title=title, body="\n".join([*lines, "", _more(diagnosis)]), urgency="success")


def _told_finding(finding: Finding) -> str:
    lines = [f"{finding.severity.upper()} {phrases.name(finding)}: {plain(finding.title)}"]
    lines.append(f"Since {phrases.onset(finding)}. {plain(finding.explanation)}")
    lines += [f"- {plain(one.metric)} {phrases.change(one)}" for one in finding.evidence[:_MOST_EVIDENCE]]
    if finding.consequence_of:
        lines.append(f"It follows from {plain(finding.consequence_of)}.")
    elif finding.remedies:
        changed = phrases.setting(finding.remedies[0])
        lines.append(f"Try: {plain(finding.remedies[0].text)}{f' ({changed})' if changed else ''}")
    if finding.root and finding.rollback_step is not None:
        lines.append(f"Roll back to the checkpoint of step {finding.rollback_step}.")
    return "\n".join(lines)


def _more(diagnosis: Diagnosis) -> str:
    return f"rlprobe doctor {argument(diagnosis.source)}"
