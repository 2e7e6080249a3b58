"""The course of an incident: a line a finding on one axis of steps, in time order, without a script."""

from collections.abc import Sequence

from rlprobe.doctor.finding import Finding
from rlprobe.reports import format as say
from rlprobe.reports import phrases
from rlprobe.reports.html.dossier import Dossier
from rlprobe.reports.html.markup import tag, text

TICKS = 4  # equal parts of the axis
ROOM = 0.14  # fraction of the axis that a bar needs to hold its words; narrower ones have them beside it
_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def letter(place: int) -> str:
    """The name of a finding on charts: A to Z, then AA, AB ..."""
    name = ""
    place += 1
    while place:
        place, digit = divmod(place - 1, len(_ALPHABET))
        name = _ALPHABET[digit] + name
    return name


def course(dossier: Dossier, told: Sequence[Finding]) -> str:
    """The findings as bars from their onset to their recovery, or to the run's end."""
    if dossier.domain is None:
        return ""
    rows = "".join(_row(dossier, one) for one in told)
    marks = "".join(
        _mark(dossier, step, "checkpoint", f"Checkpoint at step {step}") for step in dossier.marks.checkpoints
    ) + "".join(_mark(dossier, step, "resume", f"Resumed at step {step}") for step in dossier.marks.resumes)
    axis = tag("div", "", class_="name", aria_hidden="true") + tag("div", _ticks(dossier) + marks, class_="axis")
    return f'<div class="gantt{" alone" if len(told) == 1 else ""}">{rows}{axis}</div>'


def _row(dossier: Dossier, one: Finding) -> str:
    low, high = dossier.domain or (0, 0)
    end = high if one.status == "active" or one.recovered_step is None else one.recovered_step
    place = letter(dossier.findings.index(one))
    title = tag("a", text(one.title), href=f"#finding-{place}") + " " + tag("code", text(phrases.name(one)))
    name = tag("span", place, class_=f"letter {one.severity}") + tag("span", title)
    room = "" if _part(low, high, end) - _part(low, high, one.onset_step) > ROOM else " outside"
    side = " left" if room and _part(low, high, end) > 1 - ROOM else ""
    told = tag("span", f"step {one.onset_step}", class_=f"onset{room}{side}")
    shape = f"bar {one.severity} {one.status}"
    bar = tag("span", told, class_=shape, style=_span(low, high, one.onset_step, end))
    whisker = tag("span", "", class_="whisker", style=_span(low, high, *one.onset_interval))
    track = tag("div", bar + whisker, class_="track", role="img", aria_label=_words(one))
    return tag("div", name, class_="name") + track


def _words(one: Finding) -> str:
    return f"Since {phrases.onset(one)}, {phrases.status(one)}"


def _ticks(dossier: Dossier) -> str:
    low, high = dossier.domain or (0, 0)
    steps = sorted({low + (high - low) * part // TICKS for part in range(TICKS + 1)})
    return "".join(
        tag(
            "span",
            f"{step:,}" if step != steps[0] else say.steps((step, step)),
            class_="tick",
            style=f"left:{_percent(low, high, step)}",
        )
        for step in steps
    )


def _mark(dossier: Dossier, step: int, kind: str, title: str) -> str:
    low, high = dossier.domain or (0, 0)
    return tag("span", "", class_=f"mark {kind}", style=f"left:{_percent(low, high, step)}", title=title)


def _span(low: int, high: int, first: int, last: int) -> str:
    left, right = _part(low, high, first), _part(low, high, last)
    return f"left:{100 * left:.2f}%;width:{100 * max(right - left, 0.0):.2f}%"


def _percent(low: int, high: int, step: int) -> str:
    return f"{100 * _part(low, high, step):.2f}%"


def _part(low: int, high: int, step: int) -> float:
    return 0.0 if high <= low else min(max((step - low) / (high - low), 0.0), 1.0)
