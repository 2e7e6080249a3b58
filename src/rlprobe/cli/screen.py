"""What the terminal is like, and the one way in which commands put a page on it."""

import os
import shutil
import sys

NARROWEST, WIDEST = 40, 120  # columns that a page uses; longer lines tire the eye
WITHOUT_TERMINAL = 100  # columns of a page that goes into a file or a pipe


def width() -> int:
    """Columns for a page."""
    return min(max(shutil.get_terminal_size((WITHOUT_TERMINAL, 24)).columns, NARROWEST), WIDEST)


def color() -> bool:
    """Whether colours are wanted: on a terminal, unless NO_COLOR (no-color.org) or TERM=dumb say otherwise."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def write(page: str) -> None:
    """Print a page; where the output cannot show its signs, with ASCII in their place."""
    try:
        page.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        from rlprobe.reports.format import ascii_only

        page = ascii_only(page)
    sys.stdout.write(page)
