"""What causes what: the causal graph, and the ordering of findings into incidents, roots above consequences."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from rlprobe.doctor.finding import SEVERITIES, Finding, Incident

SLACK = 0.05  # fraction of the run by which a consequence's estimated onset may precede its cause's
_STAGES = ("infrastructure", "configuration", "reward", "advantages", "policy", "optimization", "generation")


@dataclass(frozen=True, slots=True)
class Edge:
    """A cause, a consequence, and the mechanism that leads from one to the other."""

    cause: str
    consequence: str
    mechanism: str


# Source of the edges: research literature named on the catalog pages of the signatures.
EDGES: tuple[Edge, ...] = ()

_CHILDREN: Mapping[str, frozenset[str]] = {
    cause: frozenset(edge.consequence for edge in EDGES if edge.cause == cause)
    for cause in {edge.cause for edge in EDGES}
}


def order(findings: list[Finding], steps: tuple[int, int]) -> tuple[tuple[Finding, ...], tuple[Incident, ...]]:
    """Findings in reading order, each placed under its root, and the incidents they make.

    Args:
        findings: unplaced findings.
        steps: first and last step judged.

    Returns:
        The findings, incident by incident, roots first and consequences by onset; and the incidents.
    """
    slack = SLACK * (steps[1] - steps[0])
    parents = {finding.key: _parent(finding, findings, slack) for finding in findings}
    roots = {finding.key: _root(finding.key, parents) for finding in findings}
    groups: dict[str, list[Finding]] = {}
    for finding in findings:
        groups.setdefault(roots[finding.key], []).append(finding)
    ordered: list[Finding] = []
    incidents: list[Incident] = []
    for root, members in sorted(groups.items(), key=lambda group: _urgency(group[1], group[0])):
        members.sort(key=lambda one: (one.key != root, one.onset_step, one.key))
        first = min(members, key=lambda one: (one.onset_step, one.key != root))
        mover = first.evidence[0].metric if first.evidence else ""
        incidents.append(Incident(root=root, members=tuple(one.key for one in members), first_mover=mover))
        ordered.extend(_placed(one, root, parents[one.key]) for one in members)
    return tuple(ordered), tuple(incidents)


def reaches(cause: str, consequence: str) -> bool:
    """Whether the graph leads from one signature to another, over any number of edges."""
    seen, todo = {cause}, [cause]
    while todo:
        for child in _CHILDREN.get(todo.pop(), frozenset()) - seen:
            if child == consequence:
                return True
            seen.add(child)
            todo.append(child)
    return False


def _parent(finding: Finding, findings: list[Finding], slack: float) -> str | None:
    """The strongest fired ancestor whose onset is not later than this finding's, within the slack."""
    able = [
        other
        for other in findings
        if other.key != finding.key
        and reaches(other.id, finding.id)
        and other.onset_interval[0] <= finding.onset_interval[1] + slack
        and not (reaches(finding.id, other.id) and _rank(other) >= _rank(finding))
        and not (other.status == "recovered" and finding.status == "active")
    ]
    return min(able, key=_rank).key if able else None


def _root(key: str, parents: Mapping[str, str | None]) -> str:
    seen = {key}
    while (above := parents[key]) is not None and above not in seen:
        seen.add(above)
        key = above
    return key


def _rank(finding: Finding) -> tuple[int, int, int, int, str]:
    """Exact evidence first, then severity, then onset, then the stage that comes first in the pipeline."""
    exact = finding.relation != "cause"
    return (
        int(exact),
        SEVERITIES.index(finding.severity),
        finding.onset_step,
        _STAGES.index(finding.stage),
        finding.key,
    )


def _urgency(members: list[Finding], root: str) -> tuple[int, int, int, tuple[int, int, int, int, str]]:
    active = [one for one in members if one.status == "active"]
    worst = min(SEVERITIES.index(one.severity) for one in members)
    head = next(one for one in members if one.key == root)
    return (int(not active), worst, -len(members), _rank(head))


def _placed(finding: Finding, root: str, parent: str | None) -> Finding:
    if finding.key == root:
        return replace(finding, root=True, consequence_of=None)
    return replace(finding, root=False, consequence_of=parent, relation="consequence")
