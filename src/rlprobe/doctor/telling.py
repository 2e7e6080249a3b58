"""From an episode to a Finding: onset with interval, levels before and after, the words and the remedies."""

from dataclasses import dataclass
from math import log10

import numpy as np

from rlprobe.doctor.condense import Condensed
from rlprobe.doctor.evidence.middle import middle
from rlprobe.doctor.evidence.onset import EDGE, onset
from rlprobe.doctor.finding import Confidence, Evidence, Finding, Reassurance, Remedy, Severity
from rlprobe.doctor.normal import Normal
from rlprobe.doctor.signature import ABOUT, Advice, Signature
from rlprobe.doctor.tracking import Episode
from rlprobe.recording.metrics import find
from rlprobe.recording.run import FloatArray, Run
from rlprobe.recording.settings import spelling

LOOK_BACK = 150  # observations before detection in which the onset is looked for
LOOK_AHEAD = 30  # observations after detection that still sharpen it
LEVEL_ROWS = 8  # observations that a level before or after is the median of
BULK = 0.05  # fraction of the values at either end that do not make the bulk when an onset is fitted
NAMED = 3  # metrics that a subject names; the evidence holds them all
DRAWN = 24  # levels of a sparkline
DRAWN_POINTS = 25  # values at most that each of them is the median of


@dataclass(frozen=True, slots=True, kw_only=True)
class Beginning:
    """Onset of an episode: row, interval of rows, and whether the log begins with it."""

    row: int
    low: int
    high: int
    from_start: bool


def beginning(signature: Signature, episode: Episode, subject: str | None, rows: Condensed) -> Beginning:
    """When an episode began, from rows up to LOOK_AHEAD observations past its detection."""
    if episode.since >= 0:
        return Beginning(row=episode.since, low=episode.since, high=episode.since, from_start=episode.since == 0)
    where, values = rows.observed(primary(signature, subject, rows))
    at = int(np.searchsorted(where, episode.detected, side="right"))
    part = slice(max(0, at - LOOK_BACK), at + LOOK_AHEAD)
    if len(values[part]) < 2 * EDGE + 4:
        first = int(where[part][0]) if len(values[part]) else episode.detected
        return Beginning(row=first, low=first, high=episode.detected, from_start=True)
    found = onset(_even(values[part], signature.scale))
    index = where[part]
    row = min(int(index[found.index]), episode.detected)
    low = min(row, int(index[found.low]))
    return Beginning(row=row, low=low, high=max(row, int(index[found.high])), from_start=found.shape == "start")


def primary(signature: Signature, subject: str | None, rows: Condensed) -> str:
    """The first of the metrics that a signature shows which this run has."""
    names = [resolve(name, subject) for name in signature.shows]
    return next((name for name in names if rows.observations(name)), names[0])


def resolve(name: str, subject: str | None) -> str:
    """A shown metric's name with the subject filled in."""
    return name.replace("{subject}", subject or "")


def evidence(
    signature: Signature, episode: Episode, began: Beginning, subject: str | None, rows: Condensed
) -> tuple[Evidence, ...]:
    """One line for every shown metric that the run has."""
    out = []
    for name in _about(episode) or tuple(resolve(shown, subject) for shown in signature.shows):
        where, values = rows.observed(name)
        if len(where) == 0:
            continue
        upto = episode.last if episode.recovered is not None else rows.rows - 1
        first, stop = np.searchsorted(where, (began.row, upto + 1)).tolist()
        before, after = values[:first][-LEVEL_ROWS:], values[first:stop][-LEVEL_ROWS:]
        exact = signature.arm == "exact" or not np.isfinite(episode.log_evidence)
        out.append(
            Evidence(
                metric=name,
                unit=unit(name),
                before=float(middle(before)) if len(before) else None,
                after=float(middle(after)) if len(after) else None,
                statistic=signature.arm,
                log_evidence=None if exact else round(episode.log_evidence, 1),
                steps=(rows.first_step(began.row), rows.first_step(min(upto, rows.rows - 1))),
                sparkline=drawn(values),
            )
        )
    return tuple(out)


def unit(name: str) -> str:
    """The unit that a number of the metric is told in, "" for none."""
    metric = find(name)
    return "" if metric is None or metric.unit == "dimensionless" else metric.unit


def drawn(values: FloatArray) -> tuple[float, ...]:
    """At most DRAWN levels of a series: medians over equal parts, so that no single point makes the picture.

    A long series is read at evenly spaced points, because a picture of a million rows may not cost a million rows.
    """
    if len(values) <= DRAWN:
        return tuple(values.tolist())
    width = min(DRAWN_POINTS, len(values) // DRAWN)
    at = np.linspace(0, len(values) - 1, DRAWN * width).astype(np.int64)
    return tuple(middle(values[at].reshape(DRAWN, width)).tolist())


def reassurance(
    normal: Normal, facts: dict[str, float], about: tuple[str, ...], rows: Condensed, *, also: bool
) -> Reassurance:
    """The reassurance as told: facts filled in, and the level of each metric that it speaks of today."""
    lines = []
    for name in about:
        where, values = rows.observed(name)
        if len(where):
            early, late = float(middle(values[:LEVEL_ROWS])), float(middle(values[-LEVEL_ROWS:]))
            span = (rows.first_step(int(where[0])), rows.first_step(int(where[-1])))
            lines.append(
                Evidence(
                    metric=name,
                    unit=unit(name),
                    before=early,
                    after=late,
                    statistic="level",
                    log_evidence=None,
                    steps=span,
                    sparkline=drawn(values),
                )
            )
    words = {name: numeral(value) for name, value in facts.items()}
    words["metrics"] = " and ".join(about)
    text = f"{normal.explanation} {normal.also}" if also else normal.explanation
    return Reassurance(id=normal.id, title=normal.title, explanation=text.format_map(words), evidence=tuple(lines))


def finding(
    signature: Signature, episode: Episode, subject: str | None, rows: Condensed, run: Run, severity: Severity
) -> Finding:
    """The finding of one episode, not yet placed in an incident: root, relation and consequence_of are causes.py's."""
    began = beginning(signature, episode, subject, rows)
    lines = evidence(signature, episode, began, subject, rows)
    if about := _about(episode):
        rest = f" and {len(about) - NAMED} more" if len(about) > NAMED else ""
        subject = f"{subject}: {', '.join(about[:NAMED])}{rest}"
    step = rows.first_step(began.row)
    name = signature.id if subject is None else f"{signature.id}[{subject}]"
    recovered = episode.recovered is not None and not signature.lasting
    words = signature.calm if episode.explained and signature.calm else signature
    return Finding(
        key=f"{name}@{step}",
        id=signature.id,
        subject=subject,
        stage=signature.stage,
        severity="info" if recovered else severity,
        confidence=Confidence(value=None, interval=None, examples=0, pooled=False),
        onset_step=step,
        onset_interval=(rows.first_step(began.low), rows.first_step(min(began.high, rows.rows - 1))),
        detected_step=int(rows.steps[episode.detected]),
        status="recovered" if recovered else "active",
        recovered_step=int(rows.steps[episode.recovered]) if recovered and episode.recovered is not None else None,
        root=True,
        consequence_of=None,
        relation="cause" if signature.arm == "exact" else "first_mover",
        title=words.title,
        explanation=_explanation(words.explanation, episode, lines, step, subject),
        evidence=lines,
        remedies=remedies(signature.remedies, run),
        rollback_step=rollback(run, step),
        page=signature.id,
    )


def remedies(advice: tuple[Advice, ...], run: Run) -> tuple[Remedy, ...]:
    """The advice that fits this run's settings, in its framework's words and with its values."""
    out = []
    for one in advice:
        current = run.manifest.settings.get(one.setting) if one.setting else None
        number = float(current) if isinstance(current, int | float) and not isinstance(current, bool) else None
        if one.only_above is not None and (number is None or number <= one.only_above):
            continue
        if one.only_below is not None and (number is None or number >= one.only_below):
            continue
        suggested = one.suggested
        if one.scale is not None and number:
            suggested = numeral(number * one.scale)
        setting = spelling(one.setting, run.manifest.framework) if one.setting else ""
        out.append(Remedy(text=one.text, setting=setting, current=current, suggested=suggested))
    return tuple(out)


def rollback(run: Run, step: int) -> int | None:
    """Step of the last checkpoint before the onset, None when none is known."""
    saved = [e.step for e in run.events if e.kind == "checkpoint" and e.step is not None and e.step < step]
    return max(saved, default=None)


def numeral(value: float | None) -> str:
    """A number for a sentence: three significant digits, no exponent between 0.001 and a million."""
    if value is None:
        return "unknown"
    if not np.isfinite(value):
        return "NaN" if np.isnan(value) else ("infinite" if value > 0 else "minus infinite")
    if value == 0:
        return "0"
    size = log10(abs(float(f"{value:.2e}")))  # rounded first: 999.7 is 1000 and no 1e+03
    if size >= 6 or size < -3:
        return f"{value:.2e}"
    return f"{value:.3g}" if size < 3 else f"{value:.0f}"


def _about(episode: Episode) -> tuple[str, ...]:
    """Metrics that a judgement pointed out at the row of detection."""
    return tuple(
        name.removeprefix(ABOUT) for name, value in episode.facts.items() if name.startswith(ABOUT) and value > 0
    )


def _explanation(text: str, episode: Episode, lines: tuple[Evidence, ...], step: int, subject: str | None) -> str:
    before = lines[0].before if lines else None
    after = lines[0].after if lines else None
    fraction = after / before if before and after is not None else None
    words = {name: numeral(value) for name, value in episode.facts.items()}
    words |= {
        "before": numeral(before),
        "after": numeral(after),
        "fraction": numeral(None if fraction is None else 100 * fraction) + " %",
        "onset": str(step),
        "subject": subject or "",
        "unit": lines[0].unit if lines else "",
        "metric": lines[0].metric if lines else "",
    }
    return text.format_map(words)


def _even(values: FloatArray, scale: str) -> FloatArray:
    """Values on the scale on which their noise is even, single outliers held to one more width of the bulk."""
    if scale == "log":
        positive = np.abs(values)
        floor = 0.01 * float(middle(positive)) + 1e-12  # keeps a single zero from being the run's largest change
        values = np.log(positive + floor)
    ends = np.array((BULK, 1 - BULK)) * (len(values) - 1)
    low, high = np.interp(ends, np.arange(len(values)), np.sort(values))
    return np.clip(values, low - (high - low), high + (high - low))
