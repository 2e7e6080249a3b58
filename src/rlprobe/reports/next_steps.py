"""Commands that lead on from an answer, the most useful first: what a program or a person types next.

TARGET stands for the user's own code, which no recording names.
"""

from collections.abc import Mapping

from rlprobe.doctor.finding import Diagnosis, Finding
from rlprobe.reports import phrases
from rlprobe.reports.format import argument, plain

MOST_INCIDENTS = 3  # incidents whose roots are led on from: the rest waits for these
STANDARD_INPUT = "-"  # a source that cannot be read a second time


def of_diagnosis(diagnosis: Diagnosis) -> list[str]:
    """After a diagnosis: page, samples and checks of each active root; the code itself where nothing is known."""
    if diagnosis.verdict == "unknown":
        return ["rlprobe verify TARGET"]
    by_key = {finding.key: finding for finding in diagnosis.findings}
    roots = [by_key[incident.root] for incident in diagnosis.incidents if incident.root in by_key]
    active = [root for root in roots if root.status == "active"][:MOST_INCIDENTS]
    commands = [command for root in active for command in _of_finding(root, diagnosis.source)]
    return list(dict.fromkeys(commands))


def of_run(source: str, verdict: str) -> list[str]:
    """After a line of a listing: the diagnosis of what is not healthy."""
    return [] if verdict == "healthy" else [f"rlprobe doctor {argument(source)} --json"]


def of_samples(source: str, first: Mapping[str, object] | None) -> list[str]:
    """After a list of samples: the whole first one and its step; what could be asked where none fits."""
    if source == STANDARD_INPUT:
        return []
    if first is None:
        return [f"rlprobe samples {argument(source)} --columns"]
    step, sample = plain(first.get("step")), plain(first.get("sample"))
    whole = f"rlprobe samples {argument(source)} --sample {argument(f'{step}/{sample}')} --full"
    return [whole, f"rlprobe show {argument(source)} --step {argument(step)}"]


def _of_finding(finding: Finding, source: str) -> list[str]:
    commands = [f"rlprobe explain {plain(finding.page)}"] if finding.page else []
    if source != STANDARD_INPUT:
        if finding.samples:
            commands.append(f"rlprobe samples {argument(source)} --around {finding.onset_step}")
        commands.append(f"rlprobe show {argument(source)} --step {finding.detected_step}")
    confirm = phrases.confirm_command(finding)
    return [*commands, *([confirm] if confirm else [])]
