"""A step, or a window of steps, as a page of a terminal."""

from collections.abc import Iterable, Mapping
from itertools import groupby

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from rlprobe.recording.run import Event, Samples
from rlprobe.reports import format as say
from rlprobe.reports.canvas import FirstThatFits, draw
from rlprobe.reports.step import Step, Window, sample_rows

FEW_SAMPLES = 6  # samples shown without --verbose
SHORT_TEXT = 400  # characters of a prompt or completion shown without --verbose
BARS = 24  # width of a sparkline
STYLES = ("cyan", "", "dim", "dim")  # metric, value, value before, note
TEXTS = ("prompt", "completion")
SAMPLE_NUMBERS = ("advantage", "completion_tokens", "stop_reason", "right", "logprob", "entropy", "kl", "repetition")


def render_step(facts: Step, *, width: int, color: bool, verbose: bool = False) -> str:
    """The page of one step."""
    blocks: list[RenderableType] = [_head(f"Step {facts.step}", facts.source)]
    for stage, values in groupby(facts.values, key=lambda value: value.stage):
        grid = Table.grid(padding=(0, 2))
        for value in values:
            now, earlier = (say.quantity(number, value.unit) for number in (value.value, value.previous))
            before = "" if value.previous is None or earlier == now else f"before {earlier}"
            note = value.metadata.note if verbose else ""
            cells = (value.metric, now, before, note)
            grid.add_row(*(Text(say.plain(cell), style=style) for cell, style in zip(cells, STYLES, strict=True)))
        blocks += [Text(), Text(stage, style="bold"), _inset(grid)]
    blocks += _events(facts.events) + _samples(facts.samples, facts.step, verbose=verbose)
    return draw(Group(*blocks), width=width, color=color)


def render_window(facts: Window, *, width: int, color: bool) -> str:
    """The page of a window: first and last value, range and course of every metric."""
    head = _head(f"Steps {facts.first} to {facts.last}, {say.counted(facts.rows, 'row')}", facts.source)
    blocks: list[RenderableType] = [head]
    for stage, courses in groupby(facts.courses, key=lambda course: course.stage):
        drawn, told = Table.grid(padding=(0, 2)), Table.grid(padding=(0, 2))
        for course in courses:
            first, last = (say.quantity(course.values[index], course.unit) for index in (0, -1))
            line = (Text(say.plain(course.metric), style="cyan"), Text(f"{first} → {last}"))
            told.add_row(*line)
            drawn.add_row(*line, Text(say.sparkline(say.thinned(course.values, BARS)), style="cyan"))
        blocks += [Text(), Text(stage, style="bold"), _inset(FirstThatFits(drawn, told))]
    return draw(Group(*blocks, *_events(facts.events)), width=width, color=color)


def _head(title: str, source: str) -> RenderableType:
    return Text(title, style="bold").append(f"  {say.plain(source)}", style="not bold dim")


def _events(events: Iterable[Event]) -> list[RenderableType]:
    lines = []
    for event in events:
        fields = ", ".join(f"{say.plain(key)} {say.cut(value, 80)}" for key, value in event.fields.items())
        lines.append(Text(f"step {event.step}  {say.plain(event.kind)}").append(f"  {fields}", style="dim"))
    return [Text(), Text("events", style="bold"), _inset(Group(*lines))] if lines else []


def _samples(samples: Samples, step: int, *, verbose: bool) -> list[RenderableType]:
    if not len(samples):
        return []
    rows = list(sample_rows(samples))
    shown = rows if verbose else rows[:FEW_SAMPLES]
    blocks = [_sample(row, step, index, verbose=verbose) for index, row in enumerate(shown)]
    left = len(rows) - len(shown)
    more = [Text(f"{left} more; --verbose shows all, with their whole texts", style="dim")] if left else []
    return [Text(), Text(say.counted(len(rows), "sample"), style="bold"), _inset(Group(*blocks, *more))]


def _sample(row: Mapping[str, object], step: int, index: int, *, verbose: bool) -> RenderableType:
    parts = [f"{name.split('/', 1)[1]} {_shown(row[name])}" for name in row if name.startswith("reward/")]
    reward = f"reward {_shown(row['reward'])}" if "reward" in row else ""
    detail = f" ({', '.join(map(say.plain, parts))})" if parts else ""
    numbers = (f"{name} {_shown(row[name])}" for name in SAMPLE_NUMBERS if name in row)
    head = Text(f"{step}/{_shown(row.get('sample', index))}", style="bold")
    head.append("  " + "  ".join(filter(None, (reward + detail, *numbers))), style="not bold")
    texts = [_text(name, str(row[name]), verbose=verbose) for name in TEXTS if name in row]
    return Group(head, *texts)


def _text(name: str, text: str, *, verbose: bool) -> RenderableType:
    lines = [say.plain(line) for line in text.splitlines()] if verbose else [say.cut(text, SHORT_TEXT)]
    return _inset(Text(f"{name}: ", style="dim").append("\n".join(lines), style="not dim"))


def _shown(value: object) -> str:
    return say.number(value) if isinstance(value, float) else say.plain(value)


def _inset(renderable: RenderableType) -> RenderableType:
    return Padding(renderable, (0, 0, 0, 2))
