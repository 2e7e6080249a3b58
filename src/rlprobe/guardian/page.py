"""The live page: how far a run is, how fast, its key metrics as courses, findings, what happened last.

Pure: everything comes as arguments; foreign text passes `format.plain` and is never read as markup.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from rlprobe.doctor.finding import Diagnosis, Finding
from rlprobe.doctor.telling import drawn, unit
from rlprobe.guardian.guard import Guard
from rlprobe.recording.run import Run
from rlprobe.reports import format as say
from rlprobe.reports import levels, phrases
from rlprobe.reports.terminal import SEVERITY_STYLES, VERDICT_STYLES

KEY_METRICS = (
    "reward_mean",
    "true_reward_mean",
    "accuracy_fraction",
    "preference_accuracy_fraction",
    "entropy_mean",
    "kl_mean",
    "grad_norm",
    "completion_tokens_mean",
    "truncated_fraction",
    "loss",
)
_MOST_METRICS = 10
_MOST_FINDINGS = 8
_RECENT = 16  # values of which the level now is the median
_COLUMNS = {"run": 12, "step": 5, "a row": 6, "verdict": 9, "worst finding": 0, "reward": 0}  # with least widths
_THIN = 12  # levels of a course in a list
_BAR = 30  # columns
_LONGEST_NAME = 28  # characters of a run's name in a list


def single(guard: Guard, now: float, *, height: int, news: Sequence[str], waits: str) -> RenderableType:
    """One run, on `height` lines at most: the news give way first, then metrics."""
    run, told = guard.run, guard.diagnosis
    findings = _findings(told)
    head: list[RenderableType] = [_head(told), _progress(run), _pace(guard, now)]
    shown = min(len(findings), _MOST_FINDINGS)
    room = height - len(head) - shown - 6
    metrics = _metrics(run, told)[: max(3, min(_MOST_METRICS, room))]
    room -= len(metrics)
    body = [*head, Rule(style="dim"), _courses(run, metrics), Rule(style="dim"), _list(findings[:shown], len(findings))]
    if room > 0 and news:
        body += [Rule(style="dim"), Group(*(Text(line, style="dim", no_wrap=True) for line in news[-room:]))]
    return Group(*body)


def several(guards: Sequence[Guard], now: float, *, height: int, news: Sequence[str], waits: str) -> RenderableType:
    """Many runs, the worst first, on `height` lines at most."""
    order = {"failing": 0, "attention": 1, "unknown": 2, "healthy": 3}
    ranked = sorted(guards, key=lambda one: (one.over(now), order[one.diagnosis.verdict], -one.pace.grown))
    rows = max(3, height - 6 - min(4, len(news)))
    grid = Table.grid(padding=(0, 2))
    for head, least in _COLUMNS.items():
        justify: Literal["left", "right"] = "right" if head in ("step", "a row") else "left"
        grid.add_column(Text(head, style="bold"), no_wrap=True, justify=justify, min_width=least, overflow="ellipsis")
    grid.add_row(*(Text(head, style="bold") for head in _COLUMNS))
    for guard in ranked[:rows]:
        grid.add_row(*_row(guard, now))
    left = len(ranked) - rows
    lines: list[RenderableType] = [Text(_count(guards), style="bold"), grid]
    if left > 0:
        lines.append(Text(f"{left} more runs", style="dim"))
    if waits:
        lines.append(Text(say.plain(waits), style="dim"))
    if recent := [Text(line, style="dim", no_wrap=True) for line in news[-4:]]:
        lines += [Rule(style="dim"), *recent]
    return Group(*lines)


def _count(guards: Sequence[Guard]) -> str:
    failing = sum(one.diagnosis.verdict == "failing" for one in guards)
    return f"{say.counted(len(guards), 'run')} under watch, {failing} failing"


def _row(guard: Guard, now: float) -> list[Text]:
    told = guard.diagnosis
    worst = told.worst_finding()
    named = "" if worst is None else f"{phrases.name(worst)}, step {worst.onset_step}"
    named = f"over; {named}".rstrip("; ") if guard.over(now) else named
    style = VERDICT_STYLES[told.verdict].replace("white on ", "").replace("black on ", "")
    reward = guard.run.column("reward_mean")
    return [
        Text(_short(told.source)),
        Text(say.MISSING if told.steps is None else str(told.steps[1])),
        Text(say.duration(guard.pace.usual) if guard.pace.usual else say.MISSING),
        Text(told.verdict, style=style),
        Text(named),
        Text(say.sparkline(say.thinned(drawn(reward[np.isfinite(reward)]), _THIN)), style="cyan"),
    ]


def _short(source: str) -> str:
    """The end of a path, which tells runs apart."""
    name = say.plain("/".join(source.split("/")[-2:]))
    return name if len(name) <= _LONGEST_NAME else "…" + name[1 - _LONGEST_NAME :]


def _head(told: Diagnosis) -> RenderableType:
    badge = Text(f" {told.verdict.upper()} ", style=VERDICT_STYLES[told.verdict])
    facts = " · ".join(phrases.facts(told))
    return Text.assemble(badge, " ", (facts, "bold"), no_wrap=True, overflow="ellipsis")


def _progress(run: Run) -> RenderableType:
    planned = run.manifest.settings.get("max_steps")
    step = int(run.steps[-1]) if run.rows else 0
    if not isinstance(planned, (int, float)) or isinstance(planned, bool) or not planned > 0:
        return Text(f"step {step}" if run.rows else "no row yet")
    bar = ProgressBar(total=float(planned), completed=min(float(step), float(planned)), width=_BAR)
    grid = Table.grid(padding=(0, 1))
    grid.add_row(bar, Text(f"step {step} of {int(planned)}"))
    return grid


def _pace(guard: Guard, now: float) -> Text:
    run, usual = guard.run, guard.pace.usual
    parts = [f"{say.duration(usual)} a row" if usual else "pace not known yet"]
    speed = _level(run, "tokens_per_second")
    if speed is not None and np.isfinite(speed):
        parts.append(f"{say.number(speed)} tokens/second")
    planned = run.manifest.settings.get("max_steps")
    if usual and run.rows > 1 and isinstance(planned, (int, float)) and not isinstance(planned, bool):
        spacing = (int(run.steps[-1]) - int(run.steps[0])) / (run.rows - 1)
        left = max(0.0, float(planned) - int(run.steps[-1])) * usual / max(spacing, 1e-9)
        parts.append(f"{say.duration(left)} left")
    if run.rows:
        parts.append(f"last row {say.duration(max(0.0, now - guard.pace.grown))} ago")
    return Text(" · ".join(parts), style="dim")


def _metrics(run: Run, told: Diagnosis) -> list[str]:
    """What is drawn: what findings speak of first, then the key metrics."""
    spoken = [f.evidence[0].metric for f in told.findings if f.status == "active" and f.evidence]
    return [name for name in dict.fromkeys([*spoken, *KEY_METRICS]) if run.has(name)]


def _courses(run: Run, names: Sequence[str]) -> RenderableType:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column(no_wrap=True, justify="right")
    grid.add_column(no_wrap=True)
    for name in names:
        values = run.column(name)
        course = say.sparkline(drawn(values[np.isfinite(values)]))
        level = say.quantity(_level(run, name), unit(name))
        grid.add_row(Text(say.plain(name), style="cyan"), Text(level), Text(course, style="cyan"))
    return grid


def _level(run: Run, name: str) -> float | None:
    values, logged = run.column(name)[-_RECENT:], run.logged(name)[-_RECENT:]
    if len(values) and logged[-1] and not np.isfinite(values[-1]):
        return float(values[-1])
    if levels.aggregation(name) in levels.UNSCALED:
        return levels.level(name, values)
    values = values[np.isfinite(values)]
    return float(np.median(values)) if len(values) else None


def _findings(told: Diagnosis) -> list[Finding]:
    active = [one for one in told.findings if one.status == "active"]
    return [*active, *(one for one in told.findings if one.status != "active")]


def _list(findings: Sequence[Finding], count: int) -> RenderableType:
    if not findings:
        return Text("No finding.", style="green")
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column(no_wrap=True)
    grid.add_column(no_wrap=True, overflow="ellipsis")
    for one in findings:
        style = SEVERITY_STYLES[one.severity] if one.status == "active" else "dim"
        when = f"step {one.onset_step}" if one.status == "active" else phrases.status(one)
        after = "" if one.root or not one.consequence_of else f" (after {say.plain(one.consequence_of)})"
        name = Text(f"{'' if one.root else '↳ '}{phrases.name(one)}", style=style)
        grid.add_row(name, Text(when), Text(f"{say.plain(one.title)}{after}", overflow="ellipsis", no_wrap=True))
    if count > len(findings):
        grid.add_row(Text(f"and {count - len(findings)} more", style="dim"))
    return grid
