"""A verification as a page of a terminal: stage by stage, each violation with its smallest input, the gate at the end.

Pure: width and colour come as arguments. Foreign text passes `format.plain` and is never read as markup.
"""

from collections.abc import Mapping
from itertools import groupby

import numpy as np
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from rlprobe.reports import format as say
from rlprobe.reports.canvas import draw
from rlprobe.verifier.compare import Change
from rlprobe.verifier.outcome import Check
from rlprobe.verifier.report import Report, Result

STYLES = {"fail": "bold red", "warn": "bold yellow", "pass": "green", "not_checkable": "dim", "not_applicable": "dim"}
STAGE_NAMES = {
    "reward": "reward",
    "advantages": "advantages",
    "logprobs": "log-probs",
    "loss": "loss",
    "decode": "generation and decoding",
    "reference": "reference and gradients",
    "configuration": "configuration",
    "source": "source (advice only)",
}
WORDS = (("fail", "violated"), ("warn", "to look at"), ("pass", "hold"), ("not_checkable", "not checkable"))
MOST_WANTED = 6  # things to hand over in the last line; --verbose and --json have all
LONGEST_VALUE = 160  # characters of one argument on the page; --json has all of it
INDENT = 3


def render(report: Report, *, width: int, color: bool, verbose: bool = False, change: Change | None = None) -> str:
    """The page as text; ANSI colours only when asked for."""
    return draw(page(report, verbose=verbose, change=change), width=width, color=color)


def page(report: Report, *, verbose: bool, change: Change | None = None) -> RenderableType:
    """The whole page as a rich object."""
    blocks: list[RenderableType] = [_head(report), Text(), _stages(report)]
    for result in report.findings:
        blocks += [Text(), _finding(result)]
    if change is not None:
        blocks += [Text(), Text("Since the earlier report", style="bold"), _inset(_changes(change))]
    if report.measured:
        blocks += [Text(), Text("What the code does, as measured", style="bold"), _inset(_measured(report))]
    if verbose:
        blocks += [Text(), Text("How the functions were called", style="bold")]
        blocks += [_inset(Text(say.plain(line))) for line in report.bindings]
        blocks += [Text(), Text("Every check", style="bold"), _inset(_every(report))]
    blocks += [Text(), _gate(report)]
    return Group(*blocks)


def gate(report: Report) -> str:
    """The last line: how far the walk came, and what stands between it and a clean end."""
    walked = [list(group) for _, group in groupby(report.results, key=lambda result: result.stage)]
    failing = sum(any(r.status == "fail" for r in group) for group in walked)
    silent = sum(all(r.status in ("not_checkable", "not_applicable") for r in group) for group in walked)
    told = [f"{say.counted(len(walked), 'stage')} walked", f"{failing} failing"]
    line = f"{', '.join(told)}, {silent} not checkable"
    wanted = [name.replace("|", " or ") for name in report.missing()]
    if wanted:
        more = f" and {len(wanted) - MOST_WANTED} more" if len(wanted) > MOST_WANTED else ""
        line += f": hand over {', '.join(wanted[:MOST_WANTED])}{more}"
    return line + "."


def listing(checks: tuple[Check, ...], *, width: int, color: bool) -> str:
    """Every check, by stage: id and invariant."""
    grid = Table.grid(padding=(0, 2))
    for stage, group in groupby(checks, key=lambda check: check.stage):
        grid.add_row(Text(STAGE_NAMES[stage], style="bold"))
        for check in group:
            needs = ", ".join(need.replace("|", " or ") for need in check.needs)
            grid.add_row(Text(f"  {check.id}", style="cyan"), Text(check.title), Text(needs, style="dim"))
    return draw(grid, width=width, color=color)


def checks_document(checks: tuple[Check, ...]) -> Mapping[str, object]:
    """Every check as a tree for JSON."""
    rows = [{"id": c.id, "stage": c.stage, "title": c.title, "needs": c.needs, "causes": c.causes} for c in checks]
    return {"schema": "rlprobe.checks/1", "checks": rows}


def argument(value: object) -> str:
    """An argument of the failing input in one line."""
    if isinstance(value, np.ndarray):
        kept = np.round(value, 6) if value.dtype.kind == "f" else value
        text = str(kept.tolist())
    else:
        text = repr(value)
    return say.cut(text, LONGEST_VALUE)


def _head(report: Report) -> RenderableType:
    failures, warnings = len(report.failures), len(report.warnings)
    worst = report.worst()
    badge, style = {
        "fail": (" FAILING ", "bold white on red"),
        "warn": (" LOOK ", "bold black on yellow"),
        "pass": (" HOLDS ", "bold black on green"),
    }.get(worst, (" UNKNOWN ", "bold black on cyan"))
    held = report.count("pass")
    sentence = {
        "fail": f"{say.counted(failures, 'invariant')} violated, {held} hold",
        "warn": f"No invariant is violated; {say.counted(warnings, 'thing')} to look at, {held} hold",
        "pass": f"All {held} invariants that could be checked hold",
    }.get(worst, "Nothing could be checked with what was handed over")
    verdict = Table.grid(padding=(0, 1))
    verdict.add_row(Text(badge, style=style), Text(f"{sentence}.", style="bold"))
    return verdict


def _stages(report: Report) -> RenderableType:
    grid = Table.grid(padding=(0, 2))
    for stage, group in groupby(report.results, key=lambda result: result.stage):
        results = list(group)
        counts = Text()
        for status, word in WORDS:
            count = sum(result.status == status for result in results)
            if count:
                counts.append(f"{count} {word}  ", style=STYLES[status])
        grid.add_row(Text(f"  {STAGE_NAMES[stage]}"), counts)
    return grid


def _finding(result: Result) -> RenderableType:
    outcome, style = result.outcome, STYLES[result.status]
    body: list[RenderableType] = [Text(say.plain(outcome.statement), style="bold")]
    if outcome.expected or outcome.got:
        body.append(_pairs(("expected", outcome.expected), ("got", outcome.got)))
    if outcome.example:
        shown = [(role, argument(value)) for role, value in outcome.example.items()]
        body += [Text("Smallest input that shows it", style="dim"), _inset(_pairs(*shown))]
    if outcome.fingerprint:
        body.append(Text.assemble(("Looks like: ", "bold"), say.plain(outcome.fingerprint)))
    body.append(Text.assemble(("What to try: ", "bold"), say.plain(result.fix)))
    if result.suspect:
        body.append(Text(f"Its input came from {' and '.join(result.suspect)}, which failed above.", style="dim"))
    causes = f", seen in a run as {', '.join(result.check.causes)}" if result.check.causes else ""
    body.append(Text(f"rlprobe explain {result.id}{causes}", style="dim"))
    bar = Table.grid(expand=True, padding=(0, 1))
    bar.add_column()
    bar.add_column(ratio=1)
    bar.add_column(justify="right")
    where = f"  {say.plain(result.where)}" if result.where else ""
    named = f"{STAGE_NAMES[result.stage]}: {outcome.slot or result.check.title}{where}"
    bar.add_row(Text(f"{result.status.upper()} {result.id}", style=style), Rule(style=style), Text(named, style=style))
    return Group(bar, _inset(Group(*body)))


def _changes(change: Change) -> RenderableType:
    return _pairs(
        ("fixed", ", ".join(change.fixed) or "none"),
        ("new", ", ".join(change.new) or "none"),
        ("still there", ", ".join(change.still) or "none"),
        ("no longer checked", ", ".join(change.lost) or "none"),
    )


def _measured(report: Report) -> RenderableType:
    return _pairs(*((name, say.plain(value)) for name, value in sorted(report.measured.items())))


def _every(report: Report) -> RenderableType:
    grid = Table.grid(padding=(0, 2))
    for result in report.results:
        reason = say.plain(result.outcome.statement) if result.status in ("not_checkable", "not_applicable") else ""
        status = Text(result.status.replace("_", " "), style=STYLES[result.status])
        grid.add_row(Text(result.id, style="cyan"), status, Group(Text(result.check.title), *_reason(reason)))
    return grid


def _reason(reason: str) -> list[RenderableType]:
    return [Text(reason, style="dim")] if reason else []


def _gate(report: Report) -> RenderableType:
    last = Text(gate(report), style="bold")
    if report.failures:
        last.append(
            " Mend one thing, run it again, and go on until nothing fails: one fault hides another.", style="not bold"
        )
    return last


def _pairs(*pairs: tuple[str, str]) -> RenderableType:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column()
    for name, value in pairs:
        if value:
            grid.add_row(Text(say.plain(name), style="cyan"), Text(say.plain(value)))
    return grid


def _inset(renderable: RenderableType) -> RenderableType:
    return Padding(renderable, (0, 0, 0, INDENT))
