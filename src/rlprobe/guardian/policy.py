"""What may halt a run: exact critical violations, or very strong evidence with an independent witness."""

from dataclasses import dataclass

from rlprobe.doctor.finding import Diagnosis, Finding
from rlprobe.guardian.following import name_of
from rlprobe.guardian.settings import Policy
from rlprobe.reports import phrases
from rlprobe.reports.format import number


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A finding that may halt the run, and the findings that bear witness."""

    finding: Finding
    witnesses: tuple[Finding, ...]
    judged_step: int

    @property
    def episode(self) -> str:
        """Names this one firing; a run is asked to halt once for each."""
        return f"{name_of(self.finding)}@{self.finding.detected_step}"

    @property
    def reason(self) -> str:
        """Why, in one line."""
        found = self.finding
        evidence = f": {found.evidence[0].metric} {phrases.change(found.evidence[0])}" if found.evidence else ""
        strength = _strength(found)
        weight = "an exact violation" if strength is None else f"log evidence {number(strength)}"
        seen = "; ".join(f"{phrases.name(one)} since step {one.onset_step}" for one in self.witnesses)
        witness = f", with {seen}" if seen else ""
        return f"{phrases.name(found)} since step {found.onset_step}{evidence} ({weight}{witness})"


def decide(diagnosis: Diagnosis, policy: Policy, asked: list[str]) -> Decision | None:
    """The first finding, in reading order, that may halt the run now and has not asked before."""
    if diagnosis.steps is None or diagnosis.steps[1] < policy.first_step:
        return None
    for finding in diagnosis.findings:
        if finding.severity != "critical" or finding.status != "active" or not policy.allows(finding.id):
            continue
        strength = _strength(finding)
        if strength is None:
            witnesses: tuple[Finding, ...] = ()
            may = policy.exact
        else:
            witnesses = _witnesses(finding, diagnosis)
            may = policy.statistical and strength >= policy.log_evidence and len(witnesses) >= policy.witnesses
        decision = Decision(finding=finding, witnesses=witnesses, judged_step=diagnosis.steps[1])
        if may and decision.episode not in asked:
            return decision
    return None


def _strength(finding: Finding) -> float | None:
    """Natural-log evidence; None where the evidence is exact."""
    return finding.evidence[0].log_evidence if finding.evidence else None


def _witnesses(finding: Finding, diagnosis: Diagnosis) -> tuple[Finding, ...]:
    """Active alarms above or below it in its chain that rest on another metric of another stage."""
    by_key = {one.key: one for one in diagnosis.findings}
    above = _ancestors(finding, by_key)
    out = []
    for one in diagnosis.findings:
        linked = one.key in above or finding.key in _ancestors(one, by_key)
        alarm = one.status == "active" and one.severity != "info"
        if linked and alarm and one.stage != finding.stage and _metric(one) != _metric(finding):
            out.append(one)
    return tuple(out)


def _ancestors(finding: Finding, by_key: dict[str, Finding]) -> set[str]:
    above: set[str] = set()
    key = finding.consequence_of
    while key is not None and key in by_key and key not in above:
        above.add(key)
        key = by_key[key].consequence_of
    return above


def _metric(finding: Finding) -> str:
    return finding.evidence[0].metric if finding.evidence else ""
