"""A Dossier as one HTML file: pure, the same bytes for the same dossier, with no request in it.

The policy in the page's head forbids every request, and every script but the two whose hashes it names: a text that got
past the escaping could not run either.
"""

import base64
import hashlib
from functools import cache
from importlib import resources

from rlprobe.reports.html import palette
from rlprobe.reports.html.dossier import Dossier
from rlprobe.reports.html.hero import masthead, verdict
from rlprobe.reports.html.library import Library
from rlprobe.reports.html.markup import json_block, lines, tag, text
from rlprobe.reports.html.panels import charts, data
from rlprobe.reports.html.setup import setup
from rlprobe.reports.html.silences import reassurances, silences
from rlprobe.reports.html.story import findings
from rlprobe.reports.html.texts import samples

MARK = "<!doctype html><!-- rlprobe report -->"  # what a report begins with; the command overwrites nothing else
STYLES = ("frame.css", "story.css", "charts.css", "texts.css")
SCRIPTS = ("series.js", "drawing.js", "charts.js", "page.js")


def render(dossier: Dossier, library: Library) -> str:
    """The page.

    Args:
        dossier: what it shows.
        library: the chart library's script and style.
    """
    scripts = (_safe(library.script), _safe(_own(SCRIPTS)))
    title = f"{dossier.diagnosis.verdict}: {dossier.diagnosis.source}"
    return lines(
        (
            MARK,
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_policy(scripts)}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{text(title)}</title>",
            f"<style>{library.style}{palette.css()}{_own(STYLES)}</style>",
            "</head>",
            "<body>",
            masthead(dossier),
            "<main>",
            verdict(dossier),
            findings(dossier),
            reassurances(dossier),
            charts(dossier),
            samples(dossier),
            setup(dossier),
            silences(dossier),
            "</main>",
            tag("footer", _footer(dossier)),
            json_block("data", data(dossier)),
            *(f"<script>{script}</script>" for script in scripts),
            "</body>",
            "</html>\n",
        )
    )


def _footer(dossier: Dossier) -> str:
    return (
        f"rlprobe {text(dossier.version)}. This page is one file and asks the network for nothing. Charts: uPlot (MIT)."
    )


@cache
def _own(names: tuple[str, ...]) -> str:
    folder = resources.files("rlprobe.reports.html").joinpath("assets")
    return "".join(folder.joinpath(name).read_text(encoding="utf-8") for name in names)


def _safe(script: str) -> str:
    """A script that may stand in a page: nothing in it ends its element."""
    return script.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def _policy(scripts: tuple[str, ...]) -> str:
    hashes = " ".join(f"'sha256-{base64.b64encode(hashlib.sha256(one.encode()).digest()).decode()}'" for one in scripts)
    return f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
