"""A Diagnosis as a page of a terminal: verdict, incidents with what followed and what to try, the rest, the silences.

Pure: width and colour come as arguments. Foreign text passes `format.plain` and is never read as markup.
"""

from collections.abc import Iterable

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from rlprobe.doctor.finding import Diagnosis, Evidence, Finding, Reassurance, Remedy
from rlprobe.reports import format as say
from rlprobe.reports import phrases
from rlprobe.reports.canvas import FirstThatFits, draw, picture
from rlprobe.reports.outline import Chapter, Silence, outline

VERDICT_STYLES = {
    "failing": "bold white on red",
    "attention": "bold black on yellow",
    "healthy": "bold black on green",
    "unknown": "bold black on cyan",
}
SEVERITY_STYLES = {"critical": "bold red", "warning": "bold yellow", "info": "bold cyan"}
PICTURE_WIDTH = 100  # columns of the README's picture
SHORT_SILENCES = 6  # groups of signatures that were not checked, shown without --verbose
INDENT = 3


def render(diagnosis: Diagnosis, *, width: int, color: bool, verbose: bool = False) -> str:
    """The page as text; ANSI colours only when asked for."""
    return draw(page(diagnosis, verbose=verbose), width=width, color=color)


def svg(diagnosis: Diagnosis) -> str:
    """The page as a picture in SVG that loads nothing from anywhere."""
    return picture(page(diagnosis, verbose=False), width=PICTURE_WIDTH, title="rlprobe doctor")


def page(diagnosis: Diagnosis, *, verbose: bool) -> RenderableType:
    """The whole page as a rich object."""
    arranged = outline(diagnosis)
    blocks: list[RenderableType] = [_head(diagnosis)]
    for chapter in arranged.chapters:
        blocks += [Text(), _chapter(chapter, diagnosis.source)]
    if arranged.others:
        blocks += [Text(), _heading("Other findings")]
        for finding in arranged.others:
            blocks += [Text(), _finding(finding, (), diagnosis.source)]
    if diagnosis.reassurances:
        blocks += [Text(), _heading("Looks alarming, is normal in this run"), _reassurances(diagnosis.reassurances)]
    if verbose and diagnosis.checked:
        blocks += [Text(), _heading("Checked"), _inset(Text(", ".join(map(say.plain, diagnosis.checked))))]
    if arranged.silences:
        blocks += [Text(), _heading("Not checked"), _silences(arranged.silences, verbose=verbose)]
    if losses := _losses(diagnosis):
        blocks += [Text(), _heading("Recording"), _inset(Group(*(Text(line) for line in losses)))]
    return Group(*blocks)


def _head(diagnosis: Diagnosis) -> RenderableType:
    verdict = Table.grid(padding=(0, 1))
    badge = Text(f" {diagnosis.verdict.upper()} ", style=VERDICT_STYLES[diagnosis.verdict])
    verdict.add_row(badge, Text(say.plain(diagnosis.sentence), style="bold"))
    return Group(verdict, Text(" · ".join(phrases.facts(diagnosis)), style="dim"))


def _chapter(chapter: Chapter, source: str) -> RenderableType:
    return _finding(chapter.root, chapter.consequences, source, first_mover=chapter.incident.first_mover)


def _finding(
    finding: Finding, consequences: tuple[Finding, ...], source: str, *, first_mover: str = ""
) -> RenderableType:
    style = SEVERITY_STYLES[finding.severity]
    body: list[RenderableType] = [
        Text(say.plain(finding.title), style="bold"),
        Text(f"Since {phrases.onset(finding)}, {phrases.status(finding)}"),
        Text(say.sentence_case(phrases.confidence(finding.confidence)), style="dim"),
        Text(),
        Text(say.plain(finding.explanation)),
    ]
    if finding.evidence:
        body += [Text(), _evidence(finding.evidence)]
    if consequences:
        body += [Text(), _followed(finding, consequences, first_mover)]
    if finding.remedies:
        body += [Text(), Text("What to try", style="bold"), _remedies(finding.remedies)]
    body += [Text(), _next(finding, source)]
    return Group(_bar(finding, style), _inset(Group(*body)))


def _bar(finding: Finding, style: str) -> RenderableType:
    bar = Table.grid(expand=True, padding=(0, 1))
    bar.add_column()
    bar.add_column(ratio=1)
    bar.add_column(justify="right")
    bar.add_row(
        Text(finding.severity.upper(), style=style), Rule(style=style), Text(phrases.name(finding), style=style)
    )
    return bar


def _evidence(entries: Iterable[Evidence]) -> RenderableType:
    shown = tuple(entries)
    drawn, told, stacked = (Table.grid(padding=(0, 2)) for _ in range(3))
    for entry in shown:
        metric, change = Text(say.plain(entry.metric), style="cyan"), Text(phrases.change(entry))
        drawn.add_row(metric, change, Text(say.sparkline(entry.sparkline), style="cyan"))
        told.add_row(metric, change)
        stacked.add_row(Group(metric, Padding(change, (0, 0, 0, 2))))
    return FirstThatFits(drawn, told, stacked)


def _followed(root: Finding, consequences: tuple[Finding, ...], first_mover: str) -> RenderableType:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column()
    for finding in consequences:
        told = Text(say.plain(finding.title))
        told.append(f"  {phrases.name(finding)}", style=SEVERITY_STYLES[finding.severity])
        if finding.consequence_of not in (None, root.key):
            told.append(f", after {say.plain(finding.consequence_of)}", style="dim")
        if finding.status == "recovered":
            told.append(f", {phrases.status(finding)}", style="dim")
        seen = [_evidence(finding.evidence[:1])] if finding.evidence else []
        grid.add_row(Text(f"→ step {finding.onset_step}"), Group(told, *seen))
    moved = f", {say.plain(first_mover)} moved first" if first_mover else ""
    heading = Text(phrases.followed(root), style="bold").append(moved, style="not bold dim")
    return Group(heading, grid)


def _remedies(remedies: tuple[Remedy, ...]) -> RenderableType:
    grid = Table.grid(padding=(0, 1))
    grid.add_column(no_wrap=True)
    grid.add_column()
    for index, remedy in enumerate(remedies, start=1):
        text = Text(say.plain(remedy.text))
        if changed := phrases.setting(remedy):
            text.append(f"\n{changed}", style="green")
        grid.add_row(f"{index}.", text)
    return grid


def _next(finding: Finding, source: str) -> RenderableType:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column()
    if finding.rollback_step is not None:
        grid.add_row("Roll back", f"to the checkpoint of step {finding.rollback_step}, the last one before the onset")
    if finding.samples:
        grid.add_row(
            "Samples", f"{', '.join(map(say.plain, finding.samples))} ({phrases.show_command(finding, source)})"
        )
    if command := phrases.confirm_command(finding):
        grid.add_row("Your code", f"{command} runs the checks that confirm the cause")
    if finding.page:
        grid.add_row("More", f"rlprobe explain {say.plain(finding.page)}")
    return grid


def _reassurances(entries: tuple[Reassurance, ...]) -> RenderableType:
    blocks: list[RenderableType] = []
    for entry in entries:
        title = Text.assemble(("✓ ", "green"), (say.plain(entry.title), "bold"), (f"  {say.plain(entry.id)}", "dim"))
        shown = [_evidence(entry.evidence)] if entry.evidence else []
        blocks += [title, Padding(Group(Text(say.plain(entry.explanation)), *shown), (0, 0, 0, 2))]
    return _inset(Group(*blocks))


def _silences(silences: tuple[Silence, ...], *, verbose: bool) -> RenderableType:
    shown = silences if verbose else silences[:SHORT_SILENCES]
    blocks: list[RenderableType] = []
    for silence in shown:
        line = Text(phrases.silence(silence.reason, silence.missing, len(silence.entries)))
        if verbose:
            blocks.append(line)
            blocks += [_inset(Text(f"{say.plain(e.id)}: {say.plain(e.how)}", style="dim")) for e in silence.entries]
        else:
            blocks.append(line.append(f": {', '.join(say.plain(entry.id) for entry in silence.entries)}", style="dim"))
    if left := sum(len(silence.entries) for silence in silences[len(shown) :]):
        blocks.append(Text(f"{left} more; --verbose lists all, with what to record"))
    return _inset(Group(*blocks))


def _losses(diagnosis: Diagnosis) -> list[str]:
    return [*phrases.losses(diagnosis), *(say.plain(note) for note in diagnosis.notes)]


def _heading(text: str) -> RenderableType:
    return Text(text, style="bold underline")


def _inset(renderable: RenderableType) -> RenderableType:
    return Padding(renderable, (0, 0, 0, INDENT))
