"""Branches of the user's code whose answers moved since a snapshot, for a terminal."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from rlprobe.reports import format as say
from rlprobe.reports.canvas import draw
from rlprobe.verifier.snapshot import Difference

LONGEST = 300  # characters of one answer


def render(differences: Sequence[Difference], *, width: int, color: bool) -> str:
    """The page as text."""
    if not differences:
        return draw(Text("Every branch gives what it gave before."), width=width, color=color)
    blocks: list[RenderableType] = [Text(f"{say.counted(len(differences), 'branch', 'branches')} moved.", style="bold")]
    for one in differences:
        told = [f"before {one.before}" if one.before else "new", f"now    {one.after}" if one.after else "gone"]
        blocks.append(Text(say.plain(one.branch), style="cyan"))
        blocks += [Padding(Text(say.cut(line, LONGEST)), (0, 0, 0, 3)) for line in told]
    return draw(Group(*blocks), width=width, color=color)
