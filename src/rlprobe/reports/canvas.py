"""The one place that drives rich: a renderable becomes text or a picture, whatever the environment says."""

import io
import re

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.terminal_theme import DIMMED_MONOKAI

WIDEST = 1000  # columns; wide enough to measure what any rendering would like to have
_FONT_FACE = re.compile(
    r"@font-face \{.*?\}\s*", flags=re.DOTALL
)  # rich would have the picture load a font from the network


class FirstThatFits:
    """The first of several renderings whose natural width fits the place it gets; the last one where none does."""

    def __init__(self, *renderings: RenderableType) -> None:
        self.renderings = renderings

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        wide = options.update(width=WIDEST)
        fitting = (r for r in self.renderings if Measurement.get(console, wide, r).maximum <= options.max_width)
        yield next(fitting, self.renderings[-1])

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        widest, narrowest = (Measurement.get(console, options, r) for r in (self.renderings[0], self.renderings[-1]))
        return Measurement(narrowest.minimum, widest.maximum)


def draw(renderable: RenderableType, *, width: int, color: bool) -> str:
    """The renderable as text of that width, without trailing spaces; ANSI colours only when asked for."""
    file = io.StringIO()
    _console(file, width, color=color).print(renderable)
    return "".join(line.rstrip() + "\n" for line in file.getvalue().split("\n")[:-1])


def picture(renderable: RenderableType, *, width: int, title: str) -> str:
    """The renderable as an SVG that loads nothing from anywhere."""
    console = _console(io.StringIO(), width, color=True, record=True)
    console.print(renderable)
    return _FONT_FACE.sub("", console.export_svg(title=title, theme=DIMMED_MONOKAI, unique_id="rlprobe"))


def _console(file: io.StringIO, width: int, *, color: bool, record: bool = False) -> Console:
    return Console(
        file=file,
        width=width,
        record=record,
        force_terminal=color,
        force_interactive=False,
        color_system="standard" if color else None,
        no_color=not color,
        legacy_windows=False,
        highlight=False,
        markup=False,
        emoji=False,
        _environ={},  # the environment has no say: same object, same bytes
    )
