"""Samples as one page of HTML: no script, no request, every text escaped and made visible as on the terminal."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape

from rlprobe.reports import format as say
from rlprobe.reports.sample_card import name, numbers, rewards, texts
from rlprobe.reports.samples_page import Listing
from rlprobe.reports.visible import pieces

ROOM = 4000  # characters of each text, about
_TAGS = {"repeated": "mark", "special": "b", "control": "i", "note": "small", "found": "u"}
_HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>
:root {{
  color-scheme: light dark;
  --quiet: #667; --line: #ccd; --mark: #fff1b8; --key: #8a1f8a; --control: #06778f;
}}
@media (prefers-color-scheme: dark) {{
  :root {{ --quiet: #99a; --line: #445; --mark: #5a4b00; --key: #e39be3; --control: #6cd4e8; }}
}}
body {{ font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 1.5rem auto; padding: 0 1rem; }}
header p, .quiet, dt, h3 {{ color: var(--quiet); }}
article {{
  display: grid; grid-template-columns: 13rem 1fr; gap: 0 1.5rem;
  border-top: 1px solid var(--line); padding: .8rem 0; break-inside: avoid;
}}
h2 {{ grid-column: 1 / -1; font-size: 1rem; margin: 0 0 .4rem; }}
h3 {{ font-size: .8rem; font-weight: normal; margin: .2rem 0 0; }}
dl {{
  display: grid; grid-template-columns: 1fr auto; gap: 0 .8rem; margin: 0;
  align-content: start; font-variant-numeric: tabular-nums;
}}
dd {{ margin: 0; text-align: right; overflow-wrap: anywhere; }}
dt.part {{ padding-left: 1em; }}
pre {{
  margin: 0; white-space: pre-wrap; overflow-wrap: anywhere;
  font: 13px/1.45 ui-monospace, monospace; unicode-bidi: isolate;
}}
mark {{ background: var(--mark); color: inherit; }}
pre b {{ color: var(--key); }}
pre i {{ color: var(--control); font-style: normal; }}
pre small {{ color: var(--quiet); }}
@media (max-width: 40rem) {{ article {{ grid-template-columns: 1fr; gap: .5rem; }} }}
</style>
</head>
<body>
<header><h1>{title}</h1><p>{told}</p></header>
<main>
"""
_FOOT = "</main>\n</body>\n</html>\n"


def page(facts: Listing, rows: Iterable[Mapping[str, object]]) -> Iterator[str]:
    """The page, piece by piece."""
    told = f"{say.counted(facts.matched, 'sample')} fit: {say.plain(facts.question)}."
    yield _HEAD.format(title=escape(f"Samples of {say.plain(facts.source)}"), told=escape(told))
    for row in rows:
        yield _article(row, facts.find)
    yield "".join(f'<p class="quiet">{escape(note)}</p>\n' for note in facts.notes) + _FOOT


def _article(row: Mapping[str, object], find: Sequence[str]) -> str:
    ids = " · ".join(f"{key} {say.cut(row[key], 24)}" for key in ("group", "prompt_id") if key in row)
    listed = "".join(
        f"<dt{' class=part' if label.startswith(' ') else ''}>{escape(label.strip())}</dt><dd>{escape(value)}</dd>"
        for label, value in (*rewards(row), *numbers(row))
    )
    blocks = "".join(
        f"<h3>{escape(say.cut(label, 60))}</h3><pre>{_shown(text, find)}</pre>" for label, text in texts(row)
    )
    heading = f'<h2>{escape(name(row))} <span class="quiet">{escape(ids)}</span></h2>'
    return f"<article>{heading}<dl>{listed}</dl><div>{blocks}</div></article>\n"


def _shown(text: str, find: Sequence[str]) -> str:
    out = []
    for piece in pieces(text, room=ROOM, find=tuple(find)):
        tag = _TAGS.get(piece.kind)
        out.append(f"<{tag}>{escape(piece.text)}</{tag}>" if tag else escape(piece.text))
    return "".join(out)
