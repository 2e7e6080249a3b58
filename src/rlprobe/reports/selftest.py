"""The verifier's self-test as a page: correct pipelines, bugs by stage, and every one that it was wrong about."""

from collections.abc import Sequence

from rich.console import Group
from rich.table import Table
from rich.text import Text

from rlprobe.reports import format as say
from rlprobe.reports.canvas import draw
from rlprobe.verifier.selftest.measure import Score, distinct


def render(correct: Sequence[Score], mutants: Sequence[Score], *, width: int, color: bool) -> str:
    """The page as text."""
    grid = Table.grid(padding=(0, 2))
    grid.add_row(*(Text(word, style="bold") for word in ("stage", "bugs", "found", "its stage first")))
    for stage in dict.fromkeys(score.stage for score in mutants):
        own = [score for score in mutants if score.stage == stage]
        found, first = sum(score.killed for score in own), sum(score.right_first for score in own)
        grid.add_row(Text(stage), *(Text(str(count)) for count in (len(own), found, first)))
    killed, first = sum(score.killed for score in mutants), sum(score.right_first for score in mutants)
    total = (len(mutants), killed, first)
    grid.add_row(*(Text(str(word), style="bold") for word in ("all", *total)))
    blamed = [score for score in correct if score.failing]
    lines = [
        Text(f"{say.counted(len(correct), 'correct pipeline')}, {len(blamed)} blamed."),
        *(Text(f"  {score.name}: {', '.join(score.failing)}", style="red") for score in blamed),
        Text(f"{distinct(mutants)} different sets of failing checks."),
        *(Text(f"  not found: {score.name}", style="red") for score in mutants if not score.killed),
        *(
            Text(f"  another stage first: {score.name} ({score.first_stage} before {score.stage})", style="yellow")
            for score in mutants
            if score.killed and not score.right_first
        ),
    ]
    return draw(Group(grid, Text(), *lines), width=width, color=color)
