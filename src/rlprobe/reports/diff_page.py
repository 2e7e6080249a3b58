"""A comparison as a page of a terminal: settings first, then where the runs part, then what differs at the end."""

from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from rlprobe.forensics.alignment import Beside
from rlprobe.forensics.comparison import Comparison
from rlprobe.forensics.conclusion import conclusion, limits
from rlprobe.forensics.finding_differences import FindingDifference
from rlprobe.forensics.prompt_differences import PromptDifference
from rlprobe.forensics.settings_differences import UNKNOWN
from rlprobe.recording.metrics import find
from rlprobe.recording.run import Run
from rlprobe.reports import format as say
from rlprobe.reports.canvas import FirstThatFits, draw
from rlprobe.reports.levels import thinned
from rlprobe.reports.sample_card import foreign
from rlprobe.reports.terminal import SEVERITY_STYLES

FEW = 8  # entries of a list without --verbose
BARS = 16  # width of a sparkline
SNIPPET = 240  # characters of a completion
STYLES = {"A": "bold cyan", "B": "bold magenta"}


def render(
    found: Comparison, findings: Sequence[FindingDifference], *, width: int, color: bool, verbose: bool = False
) -> str:
    """The page."""
    few = None if verbose else FEW
    blocks: list[RenderableType] = [_sides(found), Text()]
    blocks += [Text(sentence, style="bold") for sentence in conclusion(found)]
    blocks += _section("Run with", _settings(found, few))
    blocks += _section("Where the courses part", _partings(found, few))
    blocks += _section("Sides that differ beyond the scatter of their runs", _between_sides(found, few))
    blocks += _section("Different from the first rows on", _levels(found.starts, few))
    blocks += _section("NaN or infinity on one side only", _not_finite(found, few))
    blocks += _section("Findings", _findings(findings))
    blocks += _section(_prompts_title(found), _prompts(found.prompts.entries))
    blocks += _section("Farthest apart at the end", _levels(found.ends, few))
    closing = [limits(found), *found.notes]
    blocks += [Text(), *(Text(say.plain(each), style="dim") for each in closing if each)]
    return draw(Group(*blocks), width=width, color=color)


def _section(title: str, body: RenderableType | None) -> list[RenderableType]:
    return [] if body is None else [Text(), Text(title, style="bold underline"), Padding(body, (0, 0, 0, 2))]


def _sides(found: Comparison) -> RenderableType:
    grid = Table.grid(padding=(0, 2))
    for side, runs in (("A", found.ours), ("B", found.theirs)):
        for index, run in enumerate(runs):
            name = side if len(runs) == 1 else f"{side}{index + 1}"
            grid.add_row(Text(name, style=STYLES[side]), Text(say.plain(run.source)), Text(_about(run), style="dim"))
    how = "" if found.align == "step" else f", aligned by {found.align}"
    told = f"{say.counted(len(found.courses), 'metric')} compared over {say.counted(found.rows, 'row')}{how}"
    return Group(grid, Text(told, style="dim"))


def _about(run: Run) -> str:
    span = say.steps((int(run.steps[0]), int(run.steps[-1]))) if run.rows else "no rows"
    state = "" if run.manifest.state in ("closed", "unknown") else f", {run.manifest.state}"
    return f"{run.manifest.algorithm or run.manifest.format}, {say.counted(run.rows, 'row')}, {span}{state}"


def _settings(found: Comparison, few: int | None) -> RenderableType:
    entries = found.settings.entries
    if not entries:
        same = found.settings.same
        return Text(f"nothing differs in {say.counted(same, 'entry', 'entries')}" if same else "nothing was recorded")
    grid = _table("setting", "A", "B")
    for each in entries[:few]:
        grid.add_row(Text(say.cut(each.name, 44), style="cyan"), _values(each.ours), _values(each.theirs))
    for planned in found.scheduled:
        name = f"{planned.metric} at step {planned.step}"
        grid.add_row(Text(name, style="cyan"), Text(say.number(planned.ours)), Text(say.number(planned.theirs)))
    left = len(entries) - len(entries[:few])
    told = f"{left} more differ; --verbose lists them. " if left else ""
    return Group(
        grid, Text(f"{told}{say.counted(found.settings.same, 'entry is', 'entries are')} the same.", style="dim")
    )


def _values(values: Iterable[object]) -> Text:
    shown = ", ".join(f"{each:.6g}" if type(each) is float else say.cut(each, 40) for each in values)
    return Text(shown, style="dim" if shown == UNKNOWN else "")


def _partings(found: Comparison, few: int | None) -> RenderableType | None:
    partings = found.partings
    if not partings:
        return None
    wide, told, stacked = (
        _table("from step", "metric", "A", "B", "", ""),
        _table("from step", "metric", "A", "B"),
        Table.grid(),
    )
    for each in partings[:few]:
        low, high = each.parting.interval
        step = Text(str(each.parting.step), style="bold")
        step.append(f" ({low} to {high})" if low != high else "", style="not bold dim")
        name = Text(say.plain(each.metric), style="cyan")
        a, b = (Text(_change(*levels)) for levels in (each.parting.ours, each.parting.theirs))
        back = "" if each.parting.lasting else ", together again at the end"
        pair = found.courses.get(each.metric)
        bars = [Text(bar, style=style) for bar, style in zip(_bars(each.metric, pair), STYLES.values(), strict=True)]
        wide.add_row(step, name, a, b.append(back, style="dim"), *bars)
        told.add_row(step, name, a, b)
        line = Text.assemble("  A ", a, "   B ", b)
        stacked.add_row(Group(Text.assemble(("step ", "dim"), step, "  ", name), line))
    left = len(partings) - len(partings[:few])
    more = [Text(f"{left} more; --verbose lists them.", style="dim")] if left else []
    return Group(FirstThatFits(wide, told, stacked), *more)


def _bars(metric: str, pair: Beside | None) -> tuple[str, str]:
    """The two courses as sparklines of one scale."""
    if pair is None:
        return "", ""
    ours, theirs = (list(thinned(metric, x.tolist(), BARS)) for x in (pair.ours, pair.theirs))
    both = say.sparkline([*ours, *theirs])
    return both[: len(ours)], both[len(ours) :]


def _change(before: float, after: float) -> str:
    first, second = say.number(before), say.number(after)
    return first if first == second else f"{first} → {second}"


def _between_sides(found: Comparison, few: int | None) -> RenderableType | None:
    if not found.sides:
        return None
    grid = _table("steps", "metric", "A", "B", "one run's scatter")
    for each in found.sides[:few]:
        grid.add_row(
            Text(f"{each.steps[0]} to {each.steps[1]} on", style="bold"),
            Text(say.plain(each.metric), style="cyan"),
            Text(say.quantity(each.ours, _unit(each.metric))),
            Text(say.quantity(each.theirs, _unit(each.metric))),
            Text(say.number(each.spread)),
        )
    left = len(found.sides) - len(found.sides[:few])
    return Group(grid, Text(f"{left} more; --verbose lists them.", style="dim")) if left else grid


def _levels(entries: Sequence[object], few: int | None) -> RenderableType | None:
    from rlprobe.forensics.level_differences import LevelDifference

    if not entries:
        return None
    grid = _table("metric", "A", "B", "apart")
    for each in entries[:few]:
        assert isinstance(each, LevelDifference)
        a, b = (say.quantity(value, _unit(each.metric)) for value in (each.ours, each.theirs))
        apart = f"{each.noise:.2g} × noise" if each.noise < 100 else "beyond all noise"
        grid.add_row(Text(say.plain(each.metric), style="cyan"), Text(a), Text(b), Text(apart, style="dim"))
    return grid


def _not_finite(found: Comparison, few: int | None) -> RenderableType | None:
    if not found.not_finite:
        return None
    grid = Table.grid(padding=(0, 2))
    for each in found.not_finite[:few]:
        side = "A" if each.on_ours else "B"
        told = Text(f"from step {each.step} on")
        grid.add_row(Text(side, style=STYLES[side]), Text(say.plain(each.metric), style="cyan"), told)
    return grid


def _findings(findings: Sequence[FindingDifference]) -> RenderableType | None:
    apart = [each for each in findings if each.on_one_side]
    both = [each for each in findings if not each.on_one_side]
    if not findings:
        return Text("the doctor finds nothing in either", style="dim")
    grid = Table.grid(padding=(0, 2))
    for each in apart:
        side, onsets, runs = ("A", each.ours, each.runs[0]) if each.ours else ("B", each.theirs, each.runs[1])
        where = f"only {side}" if runs == 1 else f"{len(onsets)} of {runs} runs of {side}"
        name = Text(say.plain(each.id if each.subject is None else f"{each.id} {each.subject}"))
        name.stylize(SEVERITY_STYLES[each.severity])
        since = f"{say.plain(each.title)}, since step {min(onsets)}"
        grid.add_row(Text(where, style=STYLES[side]), Group(name, Text(since, style="dim")))
    if both:
        listed = ", ".join(dict.fromkeys(say.plain(each.id) for each in both))
        grid.add_row(Text("both", style="dim"), Text(listed, style="dim"))
    return grid


def _prompts_title(found: Comparison) -> str:
    since = "" if found.prompts.since is None else f", from step {found.prompts.since} on"
    return f"Prompts that differ most{since} ({say.counted(found.prompts.shared, 'prompt')} on both sides)"


def _prompts(entries: Sequence[PromptDifference]) -> RenderableType | None:
    if not entries:
        return None
    blocks: list[RenderableType] = []
    for each in entries:
        head = Text(say.cut(each.key, 24), style="bold")
        head.append(f"  reward {_change(*each.rewards)}", style="not bold")
        head.append(f"  {each.counts[0]:,} and {each.counts[1]:,} samples", style="not bold dim")
        blocks.append(head)
        grid = Table.grid(padding=(0, 1))
        if each.prompt:
            grid.add_row(Text(), foreign(each.prompt, room=SNIPPET))
        for side, row in zip("AB", each.samples, strict=True):
            if row is not None and "completion" in row:
                grid.add_row(Text(side, style=STYLES[side]), foreign(str(row["completion"]), room=SNIPPET))
        blocks.append(Padding(grid, (0, 0, 0, 2)))
    return Group(*blocks)


def _table(*heads: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for head in heads:
        table.add_column(Text(head, style="dim"))
    return table


def _unit(metric: str) -> str:
    known = find(metric)
    return "" if known is None else known.unit
