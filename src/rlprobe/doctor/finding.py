"""What the doctor says: findings, the order they are read in, and the three kinds of silence.

Renderers print these objects and decide nothing; everything a page shows, its order and its rounding included, is here.
"""

from dataclasses import dataclass, field
from typing import Literal

from rlprobe.recording.metrics import Stage

Severity = Literal["critical", "warning", "info"]
Status = Literal["active", "recovered"]
Relation = Literal["cause", "first_mover", "consequence"]
Verdict = Literal["failing", "attention", "healthy", "unknown"]
Arm = Literal["exact", "level", "jump", "trend"]

SEVERITIES: tuple[Severity, ...] = ("critical", "warning", "info")


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One metric's part in a finding.

    Attributes:
        metric: canonical name.
        unit: unit of before and after ("" when dimensionless).
        before, after: robust level before the onset and at detection; None where there is none.
        statistic: the arm that spoke.
        log_evidence: natural log of the e-value; None for exact evidence, which needs no statistics.
        steps: first and last step that the numbers cover.
        sparkline: at most 24 levels of the metric over those steps, oldest first, for a drawing.
    """

    metric: str
    unit: str
    before: float | None
    after: float | None
    statistic: Arm
    log_evidence: float | None
    steps: tuple[int, int]
    sparkline: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """One imperative sentence, cheapest first, with the setting it changes in the run's own framework's words.

    Attributes:
        text: the sentence.
        setting: the setting's name ("" when it changes none).
        current: this run's value; None when unknown.
        suggested: what to try, as text ("" when none).
    """

    text: str
    setting: str = ""
    current: object = None
    suggested: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Confidence:
    """A measured frequency: how often findings of this kind were right on the calibration corpus.

    Attributes:
        value: right / all, shrunk towards the arm's rate where examples are few; None when nothing was measured.
        interval: 95 % Wilson interval of the frequency.
        examples: findings it was measured on.
        pooled: whether the examples are of the evidence arm instead of the signature.
    """

    value: float | None
    interval: tuple[float, float] | None
    examples: int
    pooled: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One firing of a signature."""

    key: str
    id: str
    subject: str | None
    stage: Stage
    severity: Severity
    confidence: Confidence
    onset_step: int
    onset_interval: tuple[int, int]
    detected_step: int
    status: Status
    recovered_step: int | None
    root: bool
    consequence_of: str | None
    relation: Relation
    title: str
    explanation: str
    evidence: tuple[Evidence, ...]
    remedies: tuple[Remedy, ...]
    samples: tuple[str, ...] = ()
    rollback_step: int | None = None
    page: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """One failure: a root with its consequences in time order.

    Attributes:
        root: key of the root finding.
        members: keys of every finding of the incident, the root first, then by onset.
        first_mover: the metric that moved first.
    """

    root: str
    members: tuple[str, ...]
    first_mover: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NotChecked:
    """A signature that could not be judged.

    Attributes:
        id: the signature.
        reason: "missing" (a metric is not logged), "too_short" (not enough rows yet) or "disabled" (by configuration).
        missing: canonical metrics that are not there; alternatives are joined with "|".
        how: what to record, or how many rows it needs, in one sentence.
    """

    id: str
    reason: Literal["missing", "too_short", "disabled"]
    missing: tuple[str, ...]
    how: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reassurance:
    """Something that looks alarming and is normal in this run, with the evidence that makes it so."""

    id: str
    title: str
    explanation: str
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """Everything the doctor says of one run."""

    source: str
    format: str
    algorithm: str
    steps: tuple[int, int] | None
    rows: int
    segments: int
    state: str
    verdict: Verdict
    sentence: str
    incidents: tuple[Incident, ...] = ()
    findings: tuple[Finding, ...] = ()
    checked: tuple[str, ...] = ()
    not_checked: tuple[NotChecked, ...] = ()
    reassurances: tuple[Reassurance, ...] = ()
    dropped: int = 0
    bad_values: int = 0
    unreadable: int = 0
    notes: tuple[str, ...] = field(default=())

    def worst(self) -> Severity | None:
        """The most severe active finding's severity, None when none is active."""
        finding = self.worst_finding()
        return None if finding is None else finding.severity

    def worst_finding(self) -> Finding | None:
        """The first finding, in reading order, of the most severe active ones; None when none is active."""
        active = [finding for finding in self.findings if finding.status == "active"]
        return min(active, key=lambda finding: SEVERITIES.index(finding.severity), default=None)
