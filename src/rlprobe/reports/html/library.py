"""The chart library's script, from the Python package that brings it. docs/decisions has a note on the choice."""

from dataclasses import dataclass
from importlib import metadata

PACKAGE = "uplot-python"
_SCRIPT, _STYLE = "uplot/static/uPlot.iife.js", "uplot/static/uPlot.min.css"


class MissingLibrary(RuntimeError):
    """The chart library is not installed; the message is one line that says how to install it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """The texts of the chart library, to be put into the page."""

    script: str
    style: str


def library() -> Library:
    """Read the script and the style of uPlot; nothing of the package is imported.

    Raises:
        MissingLibrary: the package is not installed, or its files are not where they were.
    """
    try:
        home = metadata.distribution(PACKAGE)
        script, style = (str(home.locate_file(name)) for name in (_SCRIPT, _STYLE))
        with open(script, encoding="utf-8") as one, open(style, encoding="utf-8") as other:
            return Library(script=one.read(), style=other.read())
    except (metadata.PackageNotFoundError, OSError) as error:
        raise MissingLibrary(
            f"report: expected the chart library of the package {PACKAGE}, found none. "
            "Install it: pip install 'rlprobe[report]'."
        ) from error
