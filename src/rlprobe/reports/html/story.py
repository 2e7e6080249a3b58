"""The findings: each incident with its course in time, the evidence, and what to try."""

from collections.abc import Iterable, Sequence

from rlprobe.doctor.finding import Evidence, Finding, Remedy
from rlprobe.reports import format as say
from rlprobe.reports import phrases
from rlprobe.reports.html.course import course, letter
from rlprobe.reports.html.dossier import Dossier
from rlprobe.reports.html.drawing import spark
from rlprobe.reports.html.markup import lines, tag, text
from rlprobe.reports.outline import Chapter, outline

NOTHING_CHECKED = "No finding, because nothing could be checked."


def findings(dossier: Dossier) -> str:
    """Every incident, then the findings that belong to none; a line where there is neither."""
    arranged = outline(dossier.diagnosis)
    parts = [_incident(dossier, chapter) for chapter in arranged.chapters]
    others = [_card(dossier, one, heading="h3") for one in arranged.others]
    if others:
        parts += [tag("h2", "Other findings", id="others"), *others]
    if not parts:
        parts = [tag("p", "No finding." if dossier.diagnosis.checked else NOTHING_CHECKED, class_="nothing")]
    return lines(('<section id="findings" aria-label="Findings">', *parts, "</section>"))


def _incident(dossier: Dossier, chapter: Chapter) -> str:
    root = chapter.root
    moved = chapter.incident.first_mover
    first = f"{tag('code', text(moved))} moved first." if moved else ""
    told = (root, *chapter.consequences)
    body = (
        f'<article class="incident {root.severity}" id="{anchor(dossier, root)}">',
        '<div class="lead">',
        _head(dossier, root, "h2"),
        tag("p", text(root.explanation), class_="explanation"),
        evidence(root.evidence),
        "</div>",
        '<div class="act">',
        remedies(root.remedies),
        _next(root, dossier.diagnosis.source),
        "</div>",
        '<div class="course">',
        tag("h3", f"{phrases.followed(root)} {tag('span', first, class_='aside')}") if chapter.consequences else "",
        course(dossier, told),
        "</div>",
        _details(dossier, chapter.consequences),
        "</article>",
    )
    return lines(body)


def _details(dossier: Dossier, consequences: Sequence[Finding]) -> str:
    if not consequences:
        return ""
    cards = "".join(
        f'<details id="{anchor(dossier, one)}"><summary>{_badge(dossier, one)}'
        f"<span>{text(one.title)} {tag('span', text(phrases.name(one)), class_='id')}</span></summary>"
        f"{_body(dossier, one)}</details>"
        for one in consequences
    )
    return f'<div class="followers">{cards}</div>'


def _card(dossier: Dossier, one: Finding, *, heading: str) -> str:
    return lines(
        (
            f'<article class="incident other {one.severity}" id="{anchor(dossier, one)}">',
            '<div class="lead">',
            _head(dossier, one, heading),
            tag("p", text(one.explanation), class_="explanation"),
            evidence(one.evidence),
            "</div>",
            '<div class="act">',
            remedies(one.remedies),
            _next(one, dossier.diagnosis.source),
            "</div>",
            f'<div class="course">{course(dossier, (one,))}</div>',
            "</article>",
        )
    )


def _body(dossier: Dossier, one: Finding) -> str:
    return lines(
        (
            tag("p", _when(one), class_="when"),
            tag("p", text(one.explanation), class_="explanation"),
            evidence(one.evidence),
            remedies(one.remedies),
            _next(one, dossier.diagnosis.source),
        )
    )


def _head(dossier: Dossier, one: Finding, heading: str) -> str:
    title = tag(heading, f"{_badge(dossier, one)} {tag('span', text(one.title))}")
    name = tag("span", text(one.severity), class_=f"chip {one.severity}") + tag("code", text(phrases.name(one)))
    return f"<header>{tag('p', name, class_='id')}{title}{tag('p', _when(one), class_='when')}</header>"


def _when(one: Finding) -> str:
    measured = say.sentence_case(phrases.confidence(one.confidence))
    return text(f"Since {phrases.onset(one)}, {phrases.status(one)}. {measured}.")


def _badge(dossier: Dossier, one: Finding) -> str:
    return tag("span", letter(dossier.findings.index(one)), class_=f"letter {one.severity}", aria_hidden="true")


def anchor(dossier: Dossier, one: Finding) -> str:
    """The fragment of a finding's place on the page."""
    return f"finding-{letter(dossier.findings.index(one))}"


def evidence(entries: Iterable[Evidence]) -> str:
    """A table: metric, level before and after, a small line."""
    rows = "".join(
        f"<tr>{tag('th', text(one.metric), scope='row')}{tag('td', text(phrases.change(one)))}"
        f"{tag('td', spark(one.sparkline), class_='drawn')}</tr>"
        for one in entries
    )
    return (
        f'<table class="evidence"><caption class="hidden">Evidence</caption><tbody>{rows}</tbody></table>'
        if rows
        else ""
    )


def remedies(entries: Sequence[Remedy]) -> str:
    """What to try, cheapest first, with the setting that each changes."""
    if not entries:
        return ""
    items = "".join(
        tag(
            "li",
            text(one.text)
            + (tag("code", text(changed), class_="setting") if (changed := phrases.setting(one)) else ""),
        )
        for one in entries
    )
    return f'<h3>What to try</h3><ol class="remedies">{items}</ol>'


def _next(one: Finding, source: str) -> str:
    rows = []
    if one.rollback_step is not None:
        rows.append(("Roll back", f"to the checkpoint of step {one.rollback_step}, the last one before the onset"))
    if one.samples:
        shown = ", ".join(map(text, one.samples))
        rows.append(("Samples", f"{shown} {tag('code', text(phrases.show_command(one, source)))}"))
    if one.page:
        rows.append(("More", tag("code", text(f"rlprobe explain {one.page}"))))
    told = "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in rows)
    return f'<dl class="next">{told}</dl>' if told else ""
