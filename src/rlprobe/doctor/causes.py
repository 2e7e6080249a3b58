"""What causes what: the ordering of findings into incidents, roots above consequences."""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

from rlprobe.doctor.finding import SEVERITIES, Finding, Incident
from rlprobe.doctor.mechanisms import EDGES

SLACK = 0.05  # fraction of the run by which a consequence's estimated onset may precede its cause's
_Rank = tuple[int, int, int, int, str]
_Sight = tuple[frozenset[str], frozenset[str]]  # signatures that fired in time, and those that could not be seen
# What can keep a reward or a loss flat, in the order of the pipeline: the first that holds is the answer.
FLATTENING = (
    "REWARD_CONSTANT",
    "REWARD_TEXT_MISMATCH",
    "EMPTY_COMPLETIONS",
    "TRUNCATION_STARVE",
    "GROUPING_BUG",
    "DEGENERATE_GROUPS",
    "ADV_COLLAPSE",
    "KL_DOMINATES",
    "CLIP_SATURATION",
    "ZERO_GRADIENT",
    "NO_WEIGHT_UPDATE",
    "LR_ANOMALY",
    "STALE_ROLLOUT_WEIGHTS",
)
GAUGES = frozenset({"KL_BLOWUP"})  # they measure that the policy moved, and not by what
_STAGES = ("infrastructure", "configuration", "reward", "advantages", "policy", "optimization", "generation")


_CHILDREN: Mapping[str, frozenset[str]] = {
    cause: frozenset(edge.consequence for edge in EDGES if edge.cause == cause)
    for cause in {edge.cause for edge in EDGES}
}


def order(
    findings: list[Finding], steps: tuple[int, int], unseen: frozenset[str] = frozenset()
) -> tuple[tuple[Finding, ...], tuple[Incident, ...]]:
    """Findings in reading order, each placed under its root, and the incidents they make.

    Args:
        findings: unplaced findings.
        steps: first and last step judged.
        unseen: signatures whose metrics are not logged: a chain may pass through one of them, not through a signature
            that was checked and found nothing.

    Returns:
        The findings, incident by incident, roots first and consequences by onset; and the incidents.
    """
    slack = SLACK * (steps[1] - steps[0])
    sights = {one.key: (frozenset(f.id for f in findings if _in_time(f, one, slack)), unseen) for one in findings}
    ranks = {finding.key: _rank(finding) for finding in findings}
    parents = _cut_rings({one.key: _parent(one, findings, slack, sights) for one in findings}, ranks)
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


def flat_because(findings: tuple[Finding, ...], checked: tuple[str, ...], unseen: frozenset[str]) -> str:
    """Why a reward is flat, stage by stage: what is wrong, what was checked and is not the reason, what nobody saw."""
    titles = {one.id: one.title for one in findings if one.status == "active"}
    wrong = [titles[id] for id in FLATTENING if id in titles]
    calm = [id for id in FLATTENING if id in checked and id not in titles]
    blind = [id for id in FLATTENING if id in unseen]
    parts = [f"Flat because: {'; '.join(wrong)}."] if wrong else []
    if calm:
        parts.append(f"Checked and not the reason: {', '.join(calm)}.")
    if blind:
        parts.append(f"Not logged, so not excluded: {', '.join(blind)}.")
    return " ".join(parts)


def reaches(cause: str, consequence: str, fired: frozenset[str], unseen: frozenset[str]) -> bool:
    """Whether the graph leads from one signature to another over fired ones and at most one that could not be seen."""
    return _distance(cause, consequence, fired, unseen) is not None


@lru_cache(maxsize=4096)
def _distance(cause: str, consequence: str, fired: frozenset[str], unseen: frozenset[str]) -> int | None:
    """Edges of the shortest chain from one signature to another, None where there is none."""
    seen, reached, length = {(cause, 0)}, [(cause, 0)], 0
    while reached:
        length += 1
        ahead = []
        for node, blind in reached:
            for child in _CHILDREN.get(node, frozenset()):
                if child == consequence:
                    return length
                after = (child, blind + (child in unseen))
                if (child in fired or child in unseen) and after[1] <= 1 and after not in seen:
                    seen.add(after)
                    ahead.append(after)
        reached = ahead
    return None


def _parent(finding: Finding, findings: list[Finding], slack: float, sights: Mapping[str, _Sight]) -> str | None:
    """The strongest fired ancestor whose onset is not later than this finding's, within the slack."""
    able = [
        other
        for other in findings
        if _may_cause(other, finding, slack, sights)
        and not (_may_cause(finding, other, slack, sights) and not _first_of_ring(other, finding, sights))
    ]
    return min(able, key=_rank).key if able else None


def _in_time(cause: Finding, consequence: Finding, slack: float) -> bool:
    """Whether onsets allow one to lead to the other, and what is past does not explain what is there."""
    return cause.onset_interval[0] <= consequence.onset_interval[1] + slack and not (
        cause.status == "recovered" and consequence.status == "active"
    )


def _may_cause(cause: Finding, consequence: Finding, slack: float, sights: Mapping[str, _Sight]) -> bool:
    """Whether time and graph allow it, over findings that were there in time themselves."""
    return (
        cause.key != consequence.key
        and _in_time(cause, consequence, slack)
        and reaches(cause.id, consequence.id, *sights[consequence.key])
    )


def _first_of_ring(one: Finding, other: Finding, sights: Mapping[str, _Sight]) -> bool:
    """Of two that may each have caused the other: exact evidence first, an alarm, the shorter chain, the earlier.

    A gauge comes last: that the policy went far is told by where it went.
    """
    there = _distance(one.id, other.id, *sights[other.key]) or 0
    back = _distance(other.id, one.id, *sights[one.key]) or 0
    (exact, *rest), (its_exact, *its_rest) = _rank(one), _rank(other)
    mine = (exact, one.severity == "info", there, one.id in GAUGES, one.onset_step, *rest)
    return mine < (its_exact, other.severity == "info", back, other.id in GAUGES, other.onset_step, *its_rest)


def _cut_rings(parents: Mapping[str, str | None], ranks: Mapping[str, _Rank]) -> dict[str, str | None]:
    """Parents without rings: where causes run in a circle, the member that ranks first becomes a root."""
    cut = dict(parents)
    for start in cut:
        walk, key = [start], cut[start]
        while key is not None and key not in walk:
            walk.append(key)
            key = cut[key]
        if key is not None:
            cut[min(walk[walk.index(key) :], key=ranks.__getitem__)] = None
    return cut


def _root(key: str, parents: Mapping[str, str | None]) -> str:
    while (above := parents[key]) is not None:
        key = above
    return key


def _rank(finding: Finding) -> _Rank:
    """Exact evidence first, then severity, then onset, then the stage that comes first in the pipeline."""
    exact = finding.relation != "cause"
    return (
        int(exact),
        SEVERITIES.index(finding.severity),
        finding.onset_step,
        _STAGES.index(finding.stage),
        finding.key,
    )


def _urgency(members: list[Finding], root: str) -> tuple[int, int, int, int, _Rank]:
    """Active before past, the worst first, then what explains most, then what could explain others at all."""
    active = [one for one in members if one.status == "active"]
    worst = min(SEVERITIES.index(one.severity) for one in members)
    head = next(one for one in members if one.key == root)
    return (int(not active), worst, -len(members), int(head.id not in _CHILDREN), _rank(head))


def _placed(finding: Finding, root: str, parent: str | None) -> Finding:
    if finding.key == root:
        return replace(finding, root=True, consequence_of=None)
    return replace(finding, root=False, consequence_of=parent, relation="consequence")
