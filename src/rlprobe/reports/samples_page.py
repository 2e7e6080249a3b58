"""Answers about samples as pages of a terminal: a list, a spot check, a group side by side, one prompt over the run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.console import Group as Blocks
from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from rlprobe.forensics.groups import Group
from rlprobe.forensics.prompts import Timeline, Visit
from rlprobe.forensics.question import Answer
from rlprobe.forensics.spot_check import Stratum
from rlprobe.reports import format as say
from rlprobe.reports.canvas import FirstThatFits, draw
from rlprobe.reports.sample_card import SHORT, WHOLE, card, foreign, name, numbers, rewards, shown, texts

CARD = 38  # columns of the narrowest card of a completion
MOST_VISITS = 12  # visits of a prompt that are listed; the sparkline shows them all
BARS = 60  # width of a sparkline
SAME = 24  # characters that all completions of a group begin with before they are told once

SampleRow = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """Samples that answer a question.

    Attributes:
        source: the run.
        question: the order and the conditions, in words.
        rows: the samples, in order.
        matched: how many fulfil the conditions.
        find: texts that were looked for.
        key: what the list is ordered by, where no number of a card shows it; "" otherwise.
        keys: its value of each sample.
        strata: levels of the reward that a spot check drew from; () otherwise.
        notes: what the reader should know, one sentence each.
    """

    source: str
    question: str
    rows: tuple[SampleRow, ...]
    matched: int
    find: tuple[str, ...] = ()
    key: str = ""
    keys: tuple[float, ...] = ()
    strata: tuple[Stratum, ...] = ()
    notes: tuple[str, ...] = ()


def listing(answer: Answer, source: str, *, rows: tuple[SampleRow, ...], find: tuple[str, ...]) -> Listing:
    """What is told of an answer; `rows` are the samples that a page shows, none where they are written elsewhere."""
    return Listing(
        source=source,
        question=answer.said,
        rows=rows,
        matched=answer.found.matched,
        find=find,
        key=answer.key,
        keys=tuple(answer.found.keys.tolist()) if answer.key else (),
        strata=answer.strata,
        notes=answer.notes,
    )


def render_list(facts: Listing, *, width: int, color: bool, full: bool = False) -> str:
    """A list or a spot check."""
    told = f"{len(facts.rows):,} of {say.counted(facts.matched, 'sample')}" if facts.matched else "No sample"
    blocks: list[RenderableType] = [_head(told, facts.question, facts.source)]
    if facts.strata:
        blocks += [Text(), _strata(facts.strata)]
    for index, row in enumerate(facts.rows):
        key = (facts.key, say.number(facts.keys[index])) if facts.key else None
        blocks += [Text(), card(row, room=WHOLE if full else SHORT, find=facts.find, key=key)]
    blocks += _notes(facts.notes)
    return draw(Blocks(*blocks), width=width, color=color)


def render_group(facts: Group, source: str, *, width: int, color: bool, full: bool = False) -> str:
    """One group: a table of its numbers, then its completions side by side."""
    known = len(facts.rows)
    kept = (
        f"{known} of {facts.size} samples recorded"
        if facts.size and facts.size > known
        else say.counted(known, "sample")
    )
    other = f", one of {facts.steps:,} steps with a group of that id" if facts.steps > 1 else ""
    blocks: list[RenderableType] = [
        _head(f"Group {say.cut(facts.name, 40)} of step {facts.step}", kept + other, source)
    ]
    prompts = list(dict.fromkeys(str(row["prompt"]) for row in facts.rows if "prompt" in row))
    for prompt in prompts[:3]:
        blocks += [Text(), Text("prompt", style="dim"), _inset(foreign(prompt, room=WHOLE if full else SHORT))]
    if len(prompts) > 3:
        blocks.append(Text(f"and {len(prompts) - 3} more prompts in the same group", style="bold yellow"))
    blocks += [Text(), _inset(_comparison(facts.rows)), Text(), _completions(facts.rows, width, full=full)]
    return draw(Blocks(*blocks), width=width, color=color)


def render_timeline(facts: Timeline, source: str, *, width: int, color: bool, full: bool = False) -> str:
    """One prompt over the run."""
    count = sum(visit.count for visit in facts.visits)
    span = say.steps((facts.visits[0].step, facts.visits[-1].step))
    told = f"{say.counted(count, 'sample')} in {say.counted(len(facts.visits), 'step')} of {span}"
    room = WHOLE if full else SHORT
    blocks: list[RenderableType] = [_head(f"Prompt {say.cut(facts.key, 40)}", told, source), Text()]
    if facts.prompt:
        blocks += [_inset(foreign(facts.prompt, room=room)), Text()]
    blocks += [_course(facts), Text()]
    for index, row in enumerate(facts.samples):
        blocks += [card(row, room=room, prompt=False), *([Text()] if index + 1 < len(facts.samples) else [])]
    if facts.others:
        few = ", ".join(f"{say.cut(key, 40)} ({count:,})" for key, count in facts.others[:5])
        more = f" and {len(facts.others) - 5:,} more" if len(facts.others) > 5 else ""
        blocks += _notes((f"Other prompts fit too, with their samples: {few}{more}. Name one by its id.",))
    return draw(Blocks(*blocks), width=width, color=color)


def _head(title: str, told: str, source: str) -> RenderableType:
    return Text.assemble((title, "bold"), f", {told}" if told else "", (f"  {say.plain(source)}", "dim"))


def _notes(notes: Sequence[str]) -> list[RenderableType]:
    return [Text(), *(Text(note, style="dim") for note in notes)] if notes else []


def _strata(strata: Sequence[Stratum]) -> RenderableType:
    grid = Table.grid(padding=(0, 2))
    for justify in ("right", "right", "right", "left"):
        grid.add_column(justify=justify)
    grid.add_row(*(Text(head, style="dim") for head in ("reward", "samples", "shown", "")))
    most = max(stratum.count for stratum in strata)
    for stratum in strata:
        span = say.number(stratum.low)
        if stratum.high != stratum.low:
            span += f" to {say.number(stratum.high)}"
        bar = Text("█" * max(1, round(24 * stratum.count / most)), style="cyan")
        grid.add_row(Text(span), Text(f"{stratum.count:,}"), Text(str(stratum.drawn)), bar)
    return _inset(grid)


def _comparison(rows: Sequence[SampleRow]) -> RenderableType:
    """One line a sample: all numbers, or the rewards and the advantage where there is little room."""
    wide, narrow = Table(box=None, padding=(0, 2, 0, 0)), Table(box=None, padding=(0, 2, 0, 0))
    cells = [dict([("sample", name(row)), *rewards(row), *numbers(row)]) for row in rows]
    names = list(dict.fromkeys(label for each in cells for label in each))
    short = [label for label in names if label in ("sample", "reward", "advantage", "tokens") or label.startswith("  ")]
    for table, columns in ((wide, names), (narrow, short)):
        for column in columns:
            table.add_column(
                Text(column.strip(), style="dim"), justify="left" if column == "sample" else "right", no_wrap=True
            )
        for each in cells:
            table.add_row(*(Text(each.get(column, say.MISSING)) for column in columns))
    return FirstThatFits(wide, narrow)


def _completions(rows: Sequence[SampleRow], width: int, *, full: bool) -> RenderableType:
    """Cards in columns; equal completions once, and what all begin with once."""
    held: dict[str, list[SampleRow]] = {}
    for row in rows:
        held.setdefault(str(row.get("completion", "")), []).append(row)
    shared = _shared(list(held)) if len(held) > 1 else 0
    columns = max(1, min(len(held), (width + 2) // (CARD + 2)))
    room = WHOLE if full else max(300, SHORT * 2 // columns)
    grid = Table.grid(padding=(0, 2), expand=True)
    for _ in range(columns):
        grid.add_column(ratio=1)
    cards = [_completion(text, same, shared, room) for text, same in held.items()]
    for start in range(0, len(cards), columns):
        if start:
            grid.add_row(Text())
        grid.add_row(*cards[start : start + columns])
    if not shared:
        return grid
    first = next(iter(held))[:shared]
    told = Text(f"all begin with the same {shared:,} characters", style="dim")
    return Blocks(told, _inset(foreign(first, room=room)), Text(), grid)


def _completion(text: str, rows: Sequence[SampleRow], shared: int, room: int) -> RenderableType:
    head = Text(", ".join(name(row) for row in rows[:4]) + (" …" if len(rows) > 4 else ""), style="bold")
    first = rows[0]
    told = [f"{column} {shown(column, first[column])}" for column in ("reward", "advantage") if column in first]
    if len(rows) > 1:
        told.append(f"{len(rows)} times the same")
    body = foreign(text[shared:], room=room) if "completion" in first else Text("no text was recorded", style="dim")
    return Blocks(
        head, Text("  ".join(told), style="cyan"), Text("… ", style="dim").append_text(body) if shared else body
    )


def _shared(completions: Sequence[str]) -> int:
    """Characters that all of them begin with, cut back to a word; 0 when too few to be worth telling."""
    low, high = min(completions), max(completions)
    length = next((i for i, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), min(len(low), len(high)))
    length = max(low.rfind(" ", 0, length), low.rfind("\n", 0, length)) + 1
    return length if length >= SAME else 0


def _course(facts: Timeline) -> RenderableType:
    means = [visit.reward[1] for visit in facts.visits]
    bars = say.sparkline(say.thinned(means, BARS))
    grid = Table.grid(padding=(0, 2))
    for justify in ("right", "right", "right", "left", "right"):
        grid.add_column(justify=justify)
    grid.add_row(*(Text(head, style="dim") for head in ("step", "samples", "reward", "lowest to highest", facts.unit)))
    for visit in _chosen(facts.visits):
        low, mean, high = visit.reward
        span = f"{say.number(low)} to {say.number(high)}" if low != high else ""
        cells = (str(visit.step), f"{visit.count:,}", say.number(mean), span, say.number(visit.length))
        grid.add_row(*map(Text, cells))
    line = Text("reward  ", style="dim").append(bars, style="cyan")
    return Blocks(_inset(line), Text(), _inset(grid))


def _chosen(visits: Sequence[Visit]) -> Sequence[Visit]:
    """At most MOST_VISITS of them, the first and the last among them."""
    if len(visits) <= MOST_VISITS:
        return visits
    return [visits[round(index * (len(visits) - 1) / (MOST_VISITS - 1))] for index in range(MOST_VISITS)]


def _inset(renderable: RenderableType) -> RenderableType:
    return Padding(renderable, (0, 0, 0, 2))


__all__ = ["Listing", "render_group", "render_list", "render_timeline", "texts"]
