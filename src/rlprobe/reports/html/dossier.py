"""What the report shows: a Diagnosis with the run's curves, marks, samples and settings. Plain data to render."""

from collections.abc import Mapping
from dataclasses import dataclass

from rlprobe.doctor.finding import Diagnosis, Finding
from rlprobe.reports.html.curves import Curve
from rlprobe.reports.html.limits import Limit


@dataclass(frozen=True, slots=True, kw_only=True)
class Usual:
    """Where a metric lay before a finding's onset: the bulk of its values up to that step."""

    low: float
    high: float
    until: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One chart.

    Attributes:
        metric: the metric, or the family that its curves are members of.
        unit: what its numbers are in, "" when dimensionless.
        meaning: one sentence of the registry, "" for a foreign key.
        note: a trap that the source tells of its number, "" when none.
        curves: one, or one a member.
        main: whether it stands among the stage's first charts.
        findings: places in Dossier.findings of those that show this metric as evidence.
        limits: levels that those findings' signatures compare it with.
        usual: where the metric lay before the earliest of those findings began.
    """

    metric: str
    unit: str
    meaning: str
    note: str
    curves: tuple[Curve, ...]
    main: bool
    findings: tuple[int, ...] = ()
    limits: tuple[Limit, ...] = ()
    usual: Usual | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Constant:
    """A metric that had one value all the time; it needs no chart."""

    metric: str
    value: float
    unit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StageCharts:
    """The charts of one pipeline stage, in reading order.

    Attributes:
        left_out: foreign keys beyond what one page draws.
    """

    stage: str
    panels: tuple[Panel, ...]
    constants: tuple[Constant, ...] = ()
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Vital:
    """One headline number: level at the start and now, with a small drawing."""

    metric: str
    unit: str
    first: float
    last: float
    drawn: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """Steps at which something happened to the run, ascending, each kind bounded."""

    checkpoints: tuple[int, ...] = ()
    evaluations: tuple[int, ...] = ()
    resumes: tuple[int, ...] = ()
    ends: tuple[tuple[int, str], ...] = ()  # crash, signal, halt: step and kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A text that may be cut: what is shown, and how many characters the whole has."""

    shown: str
    characters: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One recorded sample."""

    step: int
    sample: str
    prompt: Text
    completion: Text
    reward: float | None
    rewards: tuple[tuple[str, float], ...]
    advantage: float | None
    tokens: int | None
    facts: tuple[tuple[str, str], ...]  # stop reason, log-prob ...: name and value as text


@dataclass(frozen=True, slots=True, kw_only=True)
class Exhibit:
    """Samples behind some findings: from before the onset against from after it.

    Attributes:
        findings: places in Dossier.findings; empty where no finding asked for samples.
        column: the sample column by which they were chosen, "" when by time alone.
        same_prompt: whether early and late answer the same prompt.
        early, late: each in the order of steps; early is empty where nothing was recorded before the onset.
    """

    findings: tuple[int, ...]
    column: str
    same_prompt: bool
    early: tuple[Sample, ...]
    late: tuple[Sample, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplesFound:
    """What there is of samples.

    Attributes:
        rows: sample rows of the run.
        steps: steps that have some.
    """

    rows: int = 0
    steps: int = 0
    exhibits: tuple[Exhibit, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Dossier:
    """Everything on the page.

    Attributes:
        diagnosis: what the doctor says.
        findings: every finding in reading order; its place names it on charts and in the text.
        domain: first and last step, None for a run without rows.
        settings: canonical setting -> value; `inferred` names those that were computed from the rows.
        configuration, environment: as recorded, redacted there.
        version: of rlprobe.
    """

    diagnosis: Diagnosis
    findings: tuple[Finding, ...]
    domain: tuple[int, int] | None
    vitals: tuple[Vital, ...]
    stages: tuple[StageCharts, ...]
    marks: Marks
    samples: SamplesFound
    settings: Mapping[str, object]
    inferred: frozenset[str]
    configuration: Mapping[str, object]
    environment: Mapping[str, object]
    framework: str
    version: str
