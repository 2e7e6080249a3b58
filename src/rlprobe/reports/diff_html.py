"""A comparison as one page of HTML: no script, no request; courses as drawings, every foreign text escaped."""

from collections.abc import Iterable, Sequence
from html import escape

import numpy as np

from rlprobe.forensics.alignment import Beside
from rlprobe.forensics.comparison import Comparison
from rlprobe.forensics.conclusion import conclusion, limits
from rlprobe.forensics.finding_differences import FindingDifference
from rlprobe.forensics.prompt_differences import PromptDifference
from rlprobe.recording.run import FloatArray, Run
from rlprobe.reports import format as say
from rlprobe.reports.visible import pieces

WIDE, HIGH = 720, 150  # of a drawing, in its own units
MOST = 24  # courses that are drawn
ROOM = 1500  # characters of a text
_STYLE = """
:root { color-scheme: light dark; --quiet: #667; --line: #ccd; --a: #06778f; --b: #a0208a; --band: #f0b42a; }
@media (prefers-color-scheme: dark) { :root { --quiet: #99a; --line: #445; --a: #6cd4e8; --b: #ef9be3; } }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 64rem; margin: 1.5rem auto; padding: 0 1rem; }
h1 { font-size: 1.3rem; } h2 { font-size: 1.05rem; border-top: 1px solid var(--line); padding-top: .8rem; }
.told { font-size: 1.1rem; font-weight: 600; margin: .3rem 0; }
.quiet, th, figcaption { color: var(--quiet); } .a { color: var(--a); } .b { color: var(--b); }
table { border-collapse: collapse; } th { text-align: left; font-weight: normal; }
td, th { padding: .15rem 1.2rem .15rem 0; vertical-align: top; overflow-wrap: anywhere; }
td { font-variant-numeric: tabular-nums; }
figure { margin: .8rem 0; break-inside: avoid; } svg { width: 100%; height: auto; display: block; }
polyline { fill: none; stroke-width: 1.5; vector-effect: non-scaling-stroke; }
.a-line { stroke: var(--a); } .b-line { stroke: var(--b); } .band { fill: var(--band); opacity: .25; }
.onset { stroke: var(--band); stroke-width: 1.5; }
text { fill: var(--quiet); font: 11px system-ui, sans-serif; }
pre { margin: 0; white-space: pre-wrap; overflow-wrap: anywhere; font: 13px/1.45 ui-monospace, monospace; }
"""


def page(found: Comparison, findings: Sequence[FindingDifference]) -> str:
    """The whole page."""
    body = [
        "<h1>Comparison of two sides</h1>",
        _table((), [(_mark(side), escape(run.source), _about(run)) for side, run in _runs(found)]),
        *(f'<p class="told">{escape(each)}</p>' for each in conclusion(found)),
        f'<p class="quiet">{escape(limits(found))}</p>',
        _section("Run with", _settings(found)),
        _section("Where the courses part", _partings(found)),
        _section("Sides that differ beyond the scatter of their runs", _between(found)),
        _section("Findings", _findings(findings)),
        _section("Prompts that differ most", "".join(map(_prompt, found.prompts.entries))),
        _section("Farthest apart at the end", _ends(found)),
        "".join(f'<p class="quiet">{escape(say.plain(each))}</p>' for each in found.notes),
    ]
    head = (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>rlprobe diff</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
    )
    return head + "\n".join(filter(None, body)) + "\n</body>\n</html>\n"


def _runs(found: Comparison) -> Iterable[tuple[str, Run]]:
    for side, runs in (("A", found.ours), ("B", found.theirs)):
        for index, run in enumerate(runs):
            yield (side if len(runs) == 1 else f"{side}{index + 1}"), run


def _mark(side: str) -> str:
    return f'<b class="{side[0].lower()}">{side}</b>'


def _about(run: Run) -> str:
    span = say.steps((int(run.steps[0]), int(run.steps[-1]))) if run.rows else "no rows"
    return escape(f"{say.plain(run.manifest.algorithm or run.manifest.format)}, {say.counted(run.rows, 'row')}, {span}")


def _section(title: str, body: str) -> str:
    return f"<section><h2>{escape(title)}</h2>{body}</section>" if body else ""


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are escaped already."""
    head = "".join(f"<th>{escape(each)}</th>" for each in heads)
    lines = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table>{f'<tr>{head}</tr>' if head else ''}{lines}</table>" if lines else ""


def _settings(found: Comparison) -> str:
    rows = [(escape(say.plain(e.name)), _values(e.ours), _values(e.theirs)) for e in found.settings.entries]
    for planned in found.scheduled:
        name = f"{planned.metric} at step {planned.step}"
        rows.append((escape(name), say.number(planned.ours), say.number(planned.theirs)))
    same = say.counted(found.settings.same, "entry is", "entries are")
    return _table(("setting", "A", "B"), rows) + f'<p class="quiet">{same} the same.</p>'


def _values(values: Iterable[object]) -> str:
    return escape(", ".join(f"{each:.6g}" if type(each) is float else say.cut(each, 80) for each in values))


def _partings(found: Comparison) -> str:
    out, partings = [], found.partings
    for each in partings[:MOST]:
        low, high = each.parting.interval
        between = f" (between {low} and {high})" if low != high else ""
        levels = [f"{say.number(x)} to {say.number(y)}" for x, y in (each.parting.ours, each.parting.theirs)]
        told = f"{say.plain(each.metric)}: from step {each.parting.step}{between}. A {levels[0]}, B {levels[1]}."
        pair = found.courses.get(each.metric)
        drawn = "" if pair is None else drawing(pair, each.parting.step, each.parting.interval)
        out.append(f"<figure><figcaption>{escape(told)}</figcaption>{drawn}</figure>")
    left = [say.plain(each.metric) for each in partings[MOST:]]
    return "".join(out) + (f'<p class="quiet">Also: {escape(", ".join(left))}.</p>' if left else "")


def drawing(pair: Beside, step: int, interval: tuple[int, int]) -> str:
    """Two courses as an SVG drawing, with the band in which they part."""
    first, last = float(pair.steps[0]), float(pair.steps[-1])
    both = np.concatenate([pair.ours, pair.theirs])
    low, high = float(both.min()), float(both.max())
    across = [(WIDE - 60) * (x - first) / max(1.0, last - first) + 55 for x in (*interval, step)]
    begin, end, onset = across[0], max(across[1], across[0] + 1.5), across[2]
    lines = "".join(
        f'<polyline class="{kind}-line" points="{_points(pair.steps.astype(np.float64), y, low, high)}"/>'
        for kind, y in (("a", pair.ours), ("b", pair.theirs))
    )
    labels = (
        f'<text x="50" y="14" text-anchor="end">{escape(say.number(high))}</text>'
        f'<text x="50" y="{HIGH - 18}" text-anchor="end">{escape(say.number(low))}</text>'
        f'<text x="55" y="{HIGH - 3}">step {int(first)}</text>'
        f'<text x="{WIDE - 5}" y="{HIGH - 3}" text-anchor="end">{int(last)}</text>'
    )
    band = f'<rect class="band" x="{begin:.1f}" y="5" width="{end - begin:.1f}" height="{HIGH - 25}"/>'
    mark = f'<line class="onset" x1="{onset:.1f}" x2="{onset:.1f}" y1="5" y2="{HIGH - 20}"/>'
    return (
        f'<svg viewBox="0 0 {WIDE} {HIGH}" role="img" aria-label="courses of A and B">{band}{mark}{lines}{labels}</svg>'
    )


def _points(x: FloatArray, y: FloatArray, low: float, high: float) -> str:
    span, width = max(high - low, 1e-300), max(1.0, float(x[-1] - x[0]))
    across = (WIDE - 60) * (x - x[0]) / width + 55
    up = HIGH - 20 - (HIGH - 30) * ((y - low) / span)
    return " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(across.tolist(), up.tolist(), strict=True))


def _between(found: Comparison) -> str:
    rows = [
        (
            f"{each.steps[0]} to {each.steps[1]} on",
            escape(say.plain(each.metric)),
            say.number(each.ours),
            say.number(each.theirs),
            say.number(each.spread),
        )
        for each in found.sides
    ]
    return _table(("steps", "metric", "A", "B", "one run's scatter"), rows)


def _findings(findings: Sequence[FindingDifference]) -> str:
    rows = []
    for each in findings:
        where = "both" if not each.on_one_side else f"only {_mark('A' if each.ours else 'B')}"
        onsets = each.ours or each.theirs
        name = each.id if each.subject is None else f"{each.id} {each.subject}"
        rows.append((where, escape(say.plain(name)), escape(say.plain(each.title)), f"since step {min(onsets)}"))
    return _table(("", "finding", "", ""), rows)


def _prompt(each: PromptDifference) -> str:
    rewards = " to ".join(map(say.number, each.rewards))
    told = f"{say.cut(each.key, 40)}: reward {rewards}, {each.counts[0]:,} and {each.counts[1]:,} samples"
    rows = [("", f"<pre>{_shown(each.prompt)}</pre>")] if each.prompt else []
    for side, row in zip("AB", each.samples, strict=True):
        if row is not None and "completion" in row:
            rows.append((_mark(side), f"<pre>{_shown(str(row['completion']))}</pre>"))
    return f"<h3>{escape(told)}</h3>{_table((), rows)}"


def _shown(text: str) -> str:
    return "".join(escape(piece.text) for piece in pieces(text, room=ROOM))


def _ends(found: Comparison) -> str:
    rows = [(escape(say.plain(e.metric)), say.number(e.ours), say.number(e.theirs)) for e in found.ends]
    return _table(("metric", "A", "B"), rows)
