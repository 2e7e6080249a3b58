"""What a signature is: data that says what it needs and means, and one function that judges.

A signature's file holds `SIGNATURE = Signature(...)` and `judge(rows: Rows) -> Judgement` (or a tuple of them, one a
subject); its catalog page lies beside it. It opens nothing, formats nothing and knows no other signature.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from rlprobe.doctor.finding import Arm, Severity
from rlprobe.recording.metrics import Stage
from rlprobe.recording.run import BoolArray, FloatArray, IntArray

ABOUT = "about "  # begins the names of facts that point out a metric


@dataclass(frozen=True, slots=True)
class Threshold:
    """One number that a signature compares with.

    Attributes:
        name: lower-case name; doctor.toml and the catalog page use it.
        value: the default.
        unit: what it is in.
        meaning: what lies beyond it, and where the value was measured or taken from.
        low, high: the range that doctor.toml may set.
    """

    name: str
    value: float
    unit: str
    meaning: str
    low: float = 0.0
    high: float = float("inf")


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """One remedy before it meets a run.

    Attributes:
        text: an imperative sentence.
        setting: canonical setting it changes ("" when none).
        suggested: what to set, as text ("" when `scale` says it or nothing does).
        scale: factor on the current value; used when the run's value is known.
        only_above, only_below: give the advice only when the run's setting is known to lie beyond this value.
    """

    text: str
    setting: str = ""
    suggested: str = ""
    scale: float | None = None
    only_above: float | None = None
    only_below: float | None = None


@dataclass(frozen=True, slots=True)
class Calm:
    """What is said instead where the judgement's `explained` holds: title and explanation, filled in like theirs."""

    title: str
    explanation: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """The definition of one kind of failure.

    Attributes:
        id: stable name; names the failure. The file is the id in lower case.
        stage: pipeline stage.
        severity: severity of a finding unless the judgement raises it to critical.
        arm: the kind of evidence it rests on.
        requires: metrics it cannot do without; "a|b" takes either, "a/" any member of a family.
        helps: metrics that sharpen it.
        shows: metrics told as evidence, the primary one first. "{subject}" stands for the subject.
        minimum_rows: observations of the first required metric before anything is said.
        title: at most 60 characters, no number.
        explanation: one or two sentences in the present tense; {metric} (the primary one), {before},
            {after}, {unit}, {fraction}, {onset}, {subject} and the judgement's own facts are filled in.
        record: what to log so that it can be checked, one imperative sentence.
        remedies: cheapest first.
        thresholds: every number that `judge` compares with.
        aliases: other names that `explain` knows.
        scale: the scale on which the primary metric's noise is even; the onset is fitted on it.
        lasting: whether the harm stays when the metric comes back (a poisoned weight, a broken reward).
        calm: what is said while a harmless reason is there; None: title and explanation fit that as well.
    """

    id: str
    stage: Stage
    severity: Severity
    arm: Arm
    requires: tuple[str, ...]
    title: str
    explanation: str
    record: str
    remedies: tuple[Advice, ...]
    shows: tuple[str, ...]
    helps: tuple[str, ...] = ()
    minimum_rows: int = 20
    thresholds: tuple[Threshold, ...] = ()
    aliases: tuple[str, ...] = ()
    scale: Literal["linear", "log"] = "linear"
    lasting: bool = False
    calm: Calm | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What a signature says of the newest rows. Every array has one entry a row.

    Attributes:
        fires: evidence, effect and guard all hold.
        log_evidence: natural log of the e-value; +inf for an exact violation.
        holds: the condition is still there (None: as fires); a finding recovers after RECOVERY rows without it.
        critical: rows at which the finding is critical whatever the signature's severity says.
        explained: rows at which a known, harmless reason is there (mastery, say): the finding is told as info while the
            reason lasts.
        since: row at which the present violation began, -1 where there is none; None lets the onset be fitted.
        subject: member of a family that it speaks of.
        facts: numbers for the explanation, taken at the row of detection. One named ABOUT + metric that is above 0 says
            that the finding speaks of that metric: it joins the subject and is told as evidence.
    """

    fires: BoolArray
    log_evidence: FloatArray
    holds: BoolArray | None = None
    critical: BoolArray | None = None
    explained: BoolArray | None = None
    since: IntArray | None = None
    subject: str | None = None
    facts: Mapping[str, FloatArray] = field(default_factory=dict)
