"""Catalog pages and lists of names, for a terminal."""

from collections.abc import Mapping, Sequence
from itertools import groupby

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import Heading, Markdown
from rich.table import Table
from rich.text import Text

from rlprobe.doctor.signature import Signature
from rlprobe.reports import format as say
from rlprobe.reports.canvas import draw
from rlprobe.reports.terminal import SEVERITY_STYLES


class _LeftHeading(Heading):
    """A heading at the left margin, bold; rich would centre it in a box."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        self.text.justify = "left"
        self.text.stylize("bold")
        yield self.text


class _Page(Markdown):
    elements = {**Markdown.elements, "heading_open": _LeftHeading}  # noqa: RUF012  # the base class declares it so


def render(markdown: str, *, width: int, color: bool) -> str:
    """A page of Markdown."""
    return draw(_Page(markdown, code_theme="ansi_dark", hyperlinks=False), width=width, color=color)


def index(signatures: Sequence[Signature], *, width: int, color: bool) -> str:
    """Every signature, by stage: id, severity, title."""
    grid = Table.grid(padding=(0, 2))
    for stage, entries in groupby(signatures, key=lambda signature: signature.stage):
        grid.add_row(Text(stage, style="bold"))
        for entry in entries:
            severity = Text(entry.severity, style=SEVERITY_STYLES[entry.severity])
            grid.add_row(Text(f"  {say.plain(entry.id)}", style="cyan"), severity, Text(say.plain(entry.title)))
    return draw(grid, width=width, color=color)


def document(signatures: Sequence[Signature]) -> Mapping[str, object]:
    """Every signature as a tree for JSON."""
    listed = [
        {
            "id": entry.id,
            "aliases": entry.aliases,
            "stage": entry.stage,
            "severity": entry.severity,
            "title": entry.title,
            "requires": entry.requires,
        }
        for entry in signatures
    ]
    return {"schema": "rlprobe.signatures/1", "signatures": listed}


def pairs(entries: Sequence[tuple[str, str]], *, width: int, color: bool) -> str:
    """Names with what they mean."""
    grid = Table.grid(padding=(0, 2))
    for name, meaning in entries:
        grid.add_row(Text(say.plain(name), style="cyan"), Text(say.plain(meaning)))
    return draw(grid, width=width, color=color)
