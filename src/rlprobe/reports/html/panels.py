"""The charts: a toolbar, a panel a metric with a still picture in it, and the numbers that the script draws from."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from rlprobe.doctor.finding import Finding
from rlprobe.reports import format as say
from rlprobe.reports.html.course import letter
from rlprobe.reports.html.curves import Curve
from rlprobe.reports.html.dossier import Dossier, Panel, StageCharts
from rlprobe.reports.html.drawing import still
from rlprobe.reports.html.markup import lines, tag, text

DIGITS = 5  # significant digits of a point; a screen shows three
TOOLBAR = """<div class="toolbar script" role="toolbar" aria-label="All charts">
<label class="find"><span>Find</span><input type="search" id="find" placeholder="metric" autocomplete="off"></label>
<label><span>Smoothing</span><select id="smooth">
<option value="0">none</option><option value="0.01">1 % of the run</option>
<option value="0.03" selected>3 % of the run</option><option value="0.1">10 % of the run</option></select></label>
<label><input type="checkbox" id="raw" checked> Raw</label>
<label><input type="checkbox" id="log"> Log scale</label>
<span class="zooms"><button type="button" data-zoom="all">Whole run</button>{zooms}</span>
<output id="where" aria-live="off"></output>
</div>"""
HINT = (
    '<p class="hint script">Drag over a chart to zoom into all of them, double-click for the whole run. '
    "With the keyboard: arrow keys move the cursor, + and - zoom, 0 shows the whole run.</p>"
)
SIGNS = (  # class, words; in the order of the legend
    ("onset", "onset of a finding, with its letter"),
    ("between", "onset interval"),
    ("detected", "detected"),
    ("usual", "usual before the onset"),
    ("limit", "threshold"),
    ("checkpoint", "checkpoint"),
    ("evaluation", "evaluation"),
    ("resume", "resume"),
    ("bad", "NaN or infinite"),
)
FEW = 6  # charts of a stage up to which none is put away


def charts(dossier: Dossier) -> str:
    """The section of all charts; a line where the run has nothing to draw."""
    head = tag("h2", "Charts")
    if dossier.domain is None or not dossier.stages:
        return lines(('<section id="charts">', head, tag("p", "No metric was logged.", class_="nothing"), "</section>"))
    numbered = _numbered(dossier)
    zooms = "".join(
        tag("button", letter(place), type="button", data_zoom=place, aria_label=f"Zoom to finding {letter(place)}")
        for place, one in enumerate(dossier.findings)
        if one.severity != "info"
    )
    parts = [_stage(dossier, stage, numbered) for stage in dossier.stages]
    signs = (HINT, _legend(dossier), TOOLBAR.replace("{zooms}", zooms)) if numbered else ()
    return lines(('<section id="charts">', head, *signs, *parts, "</section>"))


def _legend(dossier: Dossier) -> str:
    """The signs that occur on this page."""
    panels, marks = [panel for _, panel in _every(dossier)], dossier.marks
    there = {
        "onset": any(panel.findings for panel in panels),
        "between": any(one.onset_interval[0] < one.onset_interval[1] for one in dossier.findings),
        "detected": any(one.detected_step != one.onset_step for one in dossier.findings),
        "usual": any(panel.usual for panel in panels),
        "limit": any(panel.limits for panel in panels),
        "checkpoint": marks.checkpoints,
        "evaluation": marks.evaluations,
        "resume": marks.resumes,
        "bad": any(one.not_finite for panel in panels for one in panel.curves),
    }
    items = "".join(f'<li><i class="sign {sign}"></i>{words}</li>' for sign, words in SIGNS if there[sign])
    return f'<ul class="legend" aria-label="Signs on the charts">{items}</ul>' if items else ""


def data(dossier: Dossier) -> Mapping[str, object]:
    """What the charts are drawn from."""
    marks = dossier.marks
    return {
        "domain": dossier.domain,
        "marks": {
            "checkpoint": marks.checkpoints,
            "evaluation": marks.evaluations,
            "resume": marks.resumes,
            "end": [[step, kind] for step, kind in marks.ends],
        },
        "findings": [
            {
                "letter": letter(place),
                "severity": one.severity,
                "root": one.root,
                "onset": one.onset_step,
                "interval": one.onset_interval,
                "detected": one.detected_step,
                "recovered": one.recovered_step,
            }
            for place, one in enumerate(dossier.findings)
        ],
        "panels": {name: _numbers(panel, dossier.findings) for name, panel in _every(dossier)},
    }


def _numbered(dossier: Dossier) -> dict[int, str]:
    """The id of each panel, by the panel's own identity: two panels can be equal."""
    return {id(panel): name for name, panel in _every(dossier)}


def _every(dossier: Dossier) -> Iterable[tuple[str, Panel]]:
    panels = (panel for stage in dossier.stages for panel in stage.panels)
    return ((f"panel-{place}", panel) for place, panel in enumerate(panels))


def _stage(dossier: Dossier, stage: StageCharts, numbered: Mapping[int, str]) -> str:
    everything = len(stage.panels) <= FEW
    main = [_panel(dossier, panel, numbered[id(panel)]) for panel in stage.panels if panel.main or everything]
    more = [_panel(dossier, panel, numbered[id(panel)]) for panel in stage.panels if not (panel.main or everything)]
    parts = [
        tag("h3", text(say.sentence_case(stage.stage))),
        f'<div class="grid">{"".join(main)}</div>' if main else "",
    ]
    if more:
        told = say.counted(len(more), "more chart")
        parts.append(
            f'<details class="more"><summary>{told}</summary><div class="grid">{"".join(more)}</div></details>'
        )
    if stage.constants:
        named = ", ".join(
            f"{tag('code', text(one.metric))} {text(say.quantity(one.value, one.unit))}" for one in stage.constants
        )
        parts.append(tag("p", f"The same in every row: {named}", class_="constants"))
    if stage.left_out:
        named = ", ".join(text(name) for name in stage.left_out)
        told = say.counted(len(stage.left_out), "metric")
        parts.append(f'<details class="more"><summary>{told} not drawn</summary><p>{named}</p></details>')
    return f'<section class="stage" aria-label="{text(stage.stage)}">{"".join(parts)}</section>'


def _panel(dossier: Dossier, panel: Panel, name: str) -> str:
    onsets = [(dossier.findings[place].onset_step, dossier.findings[place].severity) for place in panel.findings]
    letters = "".join(
        tag("a", letter(place), class_=f"letter {dossier.findings[place].severity}", href=f"#finding-{letter(place)}")
        for place in panel.findings
    )
    unit = tag("span", text(panel.unit), class_="unit") if panel.unit and panel.unit not in say.UNITS_UNSAID else ""
    head = tag("span", tag("span", text(panel.metric.rstrip("/")), class_="metric") + unit + letters) + tag(
        "output", "", aria_live="off"
    )
    domain = dossier.domain or (0, 0)
    drawn = still(panel.curves, domain, onsets) + _edges(panel, domain)
    plot = tag("div", drawn, class_="plot", tabindex="0", role="img", aria_label=_in_words(panel))
    about = " ".join(filter(None, (panel.meaning, panel.note)))
    note = tag("p", text(panel.note), class_="note") if panel.note else ""
    return (
        f'<figure class="panel" id="{name}" data-find="{text(_named(panel).lower())}">'
        f"{tag('figcaption', head, title=about or None)}{plot}{_members(panel)}{note}</figure>"
    )


def _named(panel: Panel) -> str:
    return " ".join([panel.metric, *(one.name for one in panel.curves)])


def _members(panel: Panel) -> str:
    if len(panel.curves) == 1:
        return ""
    items = "".join(
        tag("li", f'<i class="curve-{place}"></i>{text(one.name.split("/", 1)[-1])}')
        for place, one in enumerate(panel.curves, start=1)
    )
    return tag("ul", items, class_="members")


def _edges(panel: Panel, domain: tuple[int, int]) -> str:
    """The axis of the still picture in words: largest, smallest, first step, last step."""
    finite = [one.values for one in panel.curves if len(one.values)]
    if not finite:
        return tag("span", "no finite value", class_="edge top")
    low, high = min(float(one.min()) for one in finite), max(float(one.max()) for one in finite)
    unit = panel.unit if panel.unit in ("bytes", "seconds") else ""  # others stand beside the metric's name
    corners = (("top", say.quantity(high, unit)), ("bottom", say.quantity(low, unit)))
    shown = "".join(tag("span", text(value), class_=f"edge {corner}") for corner, value in corners)
    return (
        shown + tag("span", f"{domain[0]:,}", class_="edge first") + tag("span", f"{domain[1]:,}", class_="edge last")
    )


def _in_words(panel: Panel) -> str:
    told = [f"{panel.metric.rstrip('/')}."]
    for one in panel.curves:
        if len(one.values):
            name = "" if len(panel.curves) == 1 else f"{one.name}: "
            first, last = (say.quantity(float(one.values[place]), panel.unit) for place in (0, -1))
            low, high = (
                say.quantity(float(one.values.min()), panel.unit),
                say.quantity(float(one.values.max()), panel.unit),
            )
            told.append(f"{name}from {first} to {last}, between {low} and {high}.")
    return " ".join(told)


def _numbers(panel: Panel, findings: Sequence[Finding]) -> Mapping[str, object]:
    usual = panel.usual
    return {
        "unit": panel.unit,
        "curves": [_curve(one) for one in panel.curves],
        "findings": panel.findings,
        "leading": [place for place in panel.findings if _leads(findings[place], panel)],
        "limits": _levels(panel),
        "usual": None if usual is None else [_short(np.array([usual.low, usual.high])), usual.until],
    }


def _leads(finding: Finding, panel: Panel) -> bool:
    """Whether the panel shows the metric that the finding is about; the others are drawn more quietly."""
    return finding.evidence[0].metric in {one.name for one in panel.curves}


def _levels(panel: Panel) -> list[tuple[float, str]]:
    """Thresholds with their names, equal ones on one line."""
    named: dict[float, list[str]] = {}
    for one in panel.limits:
        named.setdefault(float(f"{one.value:.{DIGITS}g}"), []).append(one.name)
    return [(value, ", ".join(dict.fromkeys(names))) for value, names in named.items()]


def _curve(one: Curve) -> Mapping[str, object]:
    return {
        "name": one.name,
        "x": one.steps.tolist(),
        "y": _short(one.values),
        "mx": one.middles.tolist(),
        "my": _short(one.means),
        "rows": one.rows,
        "smooth": one.smooth,
        "bad": one.not_finite,
    }


def _short(values: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> list[float]:
    """Values with the digits that a screen can show; whole numbers without a fraction."""
    rounded = (float(f"{value:.{DIGITS}g}") for value in values.tolist())
    return [int(value) if abs(value) < 1e15 and value == int(value) else value for value in rounded]
