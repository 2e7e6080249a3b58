"""A step, or a window of steps, as a page of a terminal."""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from rlprobe.doctor.finding import Finding
from rlprobe.recording.run import Event
from rlprobe.reports import format as say
from rlprobe.reports.canvas import FirstThatFits, draw
from rlprobe.reports.levels import UNSCALED, aggregation, thinned
from rlprobe.reports.sample_card import SHORT, WHOLE, card
from rlprobe.reports.step import USUAL_ROWS, Course, Step, Usual, Value, Window, sample_rows
from rlprobe.reports.terminal import SEVERITY_STYLES

FEW_SAMPLES = 3  # samples shown without --verbose: of the lowest, a middle and the highest reward
SHORT_TEXT = SHORT // 3  # characters of a text shown without --verbose
BARS = 24  # width of a sparkline
FAR = 3.0  # standard deviations from what is usual, from which it is said
SampleRow = Mapping[str, object]
_NO_ROWS_BEFORE = "first and last values; the run has no rows before"


def render_step(
    facts: Step, findings: Sequence[Finding] = (), *, width: int, color: bool, verbose: bool = False
) -> str:
    """The page of one step."""
    blocks: list[RenderableType] = [_head(f"Step {facts.step}", facts.source)]
    if facts.replaced:
        told = f"Training went back over this step {say.counted(facts.replaced, 'time')}; these are the newest values."
        blocks.append(Text(told, style="yellow"))
    blocks += _findings(findings)
    marked = False
    for stage, values in groupby(facts.values, key=lambda value: value.stage):
        grid, still = Table.grid(padding=(0, 2)), []
        for value in values:
            if not verbose and _still(value.value, value.usual):
                still.append(f"{say.plain(value.metric)} {say.quantity(value.value, value.unit)}")
                continue
            cells = _value(value, verbose=verbose)
            marked = marked or bool(cells[3].plain)
            grid.add_row(*cells)
        blocks += _stage(stage, grid, still)
    if marked:
        blocks += [Text(), Text(f"sd: standard deviations over the {USUAL_ROWS} rows before", style="dim")]
    rows = list(sample_rows(facts.samples))
    shown = rows if verbose else _spread(rows)
    blocks += _events(facts.events) + _samples(shown, len(rows), verbose=verbose)
    return draw(Group(*blocks), width=width, color=color)


def render_window(
    facts: Window,
    findings: Sequence[Finding] = (),
    samples: Sequence[SampleRow] = (),
    *,
    count: int = 0,
    width: int,
    color: bool,
    verbose: bool = False,
) -> str:
    """The page of a window: every metric's course, and how its level compares with the window before.

    Args:
        facts: the window.
        findings: those that are active in it.
        samples: some of its samples.
        count: how many samples it has.
        width, color, verbose: of the page.
    """
    head = _head(f"Steps {facts.first} to {facts.last}, {say.counted(facts.rows, 'row')}", facts.source)
    blocks: list[RenderableType] = [head, *_findings(findings)]
    for stage, courses in groupby(facts.courses, key=lambda course: course.stage):
        wide, narrow, still = Table.grid(padding=(0, 2)), Table.grid(padding=(0, 2)), []
        for course in courses:
            if not verbose and len(set(course.values)) == 1 and _still(course.values[0], course.earlier):
                still.append(f"{say.plain(course.metric)} {say.quantity(course.values[0], course.unit)}")
                continue
            name, change, far, bars = _course(course)
            wide.add_row(name, change, far, bars)
            narrow.add_row(name, change, far)
        blocks += _stage(stage, FirstThatFits(wide, narrow), still, rows=bool(narrow.row_count))
    known = any(course.earlier is not None for course in facts.courses)
    blocks += [Text(), Text(_legend(facts.rows) if known else _NO_ROWS_BEFORE, style="dim")]
    blocks += _events(facts.events) + _samples(samples, count, verbose=verbose)
    return draw(Group(*blocks), width=width, color=color)


def _legend(rows: int) -> str:
    """What the numbers of a window are."""
    return (
        f"means, those of the {say.counted(rows, 'row')} before first; of minima and maxima the extreme, of schedules "
        "and counters the newest; sd: how far the mean lies from that before, in standard deviations over those rows"
    )


def _head(title: str, source: str) -> RenderableType:
    return Text(title, style="bold").append(f"  {say.plain(source)}", style="not bold dim")


def _findings(findings: Sequence[Finding]) -> list[RenderableType]:
    if not findings:
        return []
    grid = Table.grid(padding=(0, 2))
    for finding in findings:
        name = say.plain(finding.id if finding.subject is None else f"{finding.id} {finding.subject}")
        since = f"{say.plain(finding.title)}, since step {finding.onset_step}"
        recovered = "" if finding.recovered_step is None else f", recovered at step {finding.recovered_step}"
        grid.add_row(Text(name, style=SEVERITY_STYLES[finding.severity]), Text(since + recovered))
    return [Text(), Text("findings active here", style="bold"), _inset(grid)]


def _stage(stage: str, grid: RenderableType, still: Sequence[str], *, rows: bool = True) -> list[RenderableType]:
    """A stage's metrics, and in one paragraph those that stand still."""
    blocks: list[RenderableType] = [Text(), Text(stage, style="bold")]
    if rows and not (isinstance(grid, Table) and grid.row_count == 0):
        blocks.append(_inset(grid))
    if still:
        blocks.append(_inset(Text(f"as before: {', '.join(still)}", style="dim")))
    return blocks


def _still(value: float, usual: Usual | None) -> bool:
    """Whether a metric was constant over the rows before and has not moved."""
    return usual is not None and usual.away(value) == 0.0 and usual.deviation <= 1e-9 * abs(usual.mean)


def _value(value: Value, *, verbose: bool) -> list[Text]:
    """Metric, value, value before, and what is worth saying of it."""
    now, earlier = say.quantity(value.value, value.unit), _short(value.previous, value.unit)
    before = "" if value.previous is None or earlier == _short(value.value, value.unit) else f"before {earlier}"
    far = "" if aggregation(value.metric) in UNSCALED else _far(value.value, value.usual)
    note = [far] if far else []
    if verbose and value.metadata.note:
        note.append(say.plain(value.metadata.note))
    style = "" if math.isfinite(value.value) else "bold red"
    texts = (say.plain(value.metric), now, before, "; ".join(note))
    return [Text(text, style=each) for text, each in zip(texts, ("cyan", style, "dim", "yellow"), strict=True)]


def _short(value: float | None, unit: str) -> str:
    """A number beside one with its unit: without it, unless the unit scales what is shown."""
    return say.quantity(value, unit) if unit in ("seconds", "bytes") else say.number(value)


def _far(value: float | None, usual: Usual | None) -> str:
    """How far a value lies from the rows before, where that is far: "8.1 sd above"."""
    away = None if usual is None or value is None else usual.away(value)
    if away is None or abs(away) < FAR:
        return ""
    if math.isinf(away):
        return "was constant"
    return f"{abs(away):.2g} sd {'above' if away > 0 else 'below'}" if abs(away) < 100 else "beyond 100 sd"


def _course(course: Course) -> tuple[Text, Text, Text, Text]:
    """Metric, level before and in the window (first and last value where nothing came before), how far, course."""
    values = (course.values[0], course.values[-1]) if course.earlier is None else (course.earlier.level, course.level)
    before, now = (_short(value, course.unit) for value in values)
    told = say.quantity(values[1], course.unit)
    change = told if before == now else f"{before} → {told}"
    far = "" if aggregation(course.metric) in UNSCALED else _far(course.mean, course.earlier)
    bars = say.sparkline(thinned(course.metric, course.values, BARS))
    texts = ((say.plain(course.metric), "cyan"), (change, ""), (far, "yellow"), (bars, "cyan"))
    first, second, third, fourth = (Text(text, style=style) for text, style in texts)
    return first, second, third, fourth


def _events(events: Iterable[Event]) -> list[RenderableType]:
    lines = []
    for event in events:
        fields = ", ".join(f"{say.plain(key)} {say.cut(value, 80)}" for key, value in event.fields.items())
        lines.append(Text(f"step {event.step}  {say.plain(event.kind)}").append(f"  {fields}", style="dim"))
    return [Text(), Text("events", style="bold"), _inset(Group(*lines))] if lines else []


def _samples(rows: Sequence[SampleRow], count: int, *, verbose: bool) -> list[RenderableType]:
    if not rows:
        return []
    left = count - len(rows)
    told = say.counted(count, "sample") + (
        f", {len(rows)} of them from the lowest reward to the highest" if left else ""
    )
    blocks: list[RenderableType] = [Text(), Text(told, style="bold")]
    for row in rows:
        blocks += [Text(), card(row, room=WHOLE if verbose else SHORT_TEXT)]
    if left:
        blocks += [Text(), Text(f"{left:,} more; --verbose shows more of them, with their whole texts", style="dim")]
    return blocks


def _spread(rows: Sequence[SampleRow]) -> list[SampleRow]:
    """A few samples from the lowest reward to the highest; the first ones where there are no rewards."""
    if len(rows) <= FEW_SAMPLES:
        return list(rows)
    known = [row for row in rows if isinstance(row.get("reward"), float) and math.isfinite(float(str(row["reward"])))]
    if len(known) < FEW_SAMPLES:
        return list(rows[:FEW_SAMPLES])
    ordered = sorted(known, key=lambda row: float(str(row["reward"])))
    return [ordered[round(index * (len(ordered) - 1) / (FEW_SAMPLES - 1))] for index in range(FEW_SAMPLES)]


def _inset(renderable: RenderableType) -> RenderableType:
    return Padding(renderable, (0, 0, 0, 2))
