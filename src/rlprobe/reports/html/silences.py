"""What was not checked and how to record it, what looks alarming and is normal, and what the recording lost."""

from collections.abc import Sequence

from rlprobe.doctor.finding import Reassurance
from rlprobe.reports import format as say
from rlprobe.reports import phrases
from rlprobe.reports.html.dossier import Dossier
from rlprobe.reports.html.markup import lines, tag, text
from rlprobe.reports.html.story import evidence
from rlprobe.reports.outline import Silence, outline


def reassurances(dossier: Dossier) -> str:
    """What looks alarming and is normal in this run; nothing where there is none."""
    cards = "".join(_reassurance(one) for one in dossier.diagnosis.reassurances)
    if not cards:
        return ""
    head = tag("h2", "Looks alarming, is normal in this run")
    return f'<section id="reassurances">{head}<div class="calm">{cards}</div></section>'


def _reassurance(one: Reassurance) -> str:
    title = tag("h3", f'<span class="tick-sign" aria-hidden="true">✓</span> {text(one.title)}')
    return tag("article", f"{title}{tag('p', text(one.explanation))}{evidence(one.evidence)}")


def silences(dossier: Dossier) -> str:
    """Signatures that were not judged, why, and what to record; then those that were, and the recording's own notes."""
    diagnosis = dossier.diagnosis
    groups = outline(diagnosis).silences
    not_checked = _table(groups) if groups else tag("p", "Every signature was checked.", class_="nothing")
    named = " ".join(tag("code", text(name)) for name in diagnosis.checked)
    checked = ""
    if diagnosis.checked:
        told = say.counted(len(diagnosis.checked), "signature")
        head = f'<summary>Checked <span class="count">{told}</span></summary>'
        checked = f'<details class="table">{head}<p class="names">{named}</p></details>'
    return lines(
        (
            '<section id="silences">',
            tag("h2", "Not checked"),
            not_checked,
            checked,
            "</section>",
            _recording(dossier),
        )
    )


def _table(groups: Sequence[Silence]) -> str:
    """One line a signature; those that miss the same metrics stand together under one reason."""
    rows = []
    for one in groups:
        why = tag("td", text(_reason(one)), rowspan=len(one.entries), class_="why")
        for place, entry in enumerate(one.entries):
            cells = tag("th", text(entry.id), scope="row") + (why if place == 0 else "") + tag("td", text(entry.how))
            rows.append(f"<tr>{cells}</tr>")
    head = "<tr><th scope='col'>Signature</th><th scope='col'>Why</th><th scope='col'>What it needs</th></tr>"
    return (
        f'<div class="card"><table class="silences"><thead>{head}</thead><tbody>{"".join(rows)}</tbody></table></div>'
    )


def _reason(one: Silence) -> str:
    said = phrases.silence(one.reason, one.missing, len(one.entries))
    return say.sentence_case(said.split(" ", 1)[1].removeprefix("because "))


def _recording(dossier: Dossier) -> str:
    told = [*phrases.losses(dossier.diagnosis), *dossier.diagnosis.notes]
    if not told:
        return ""
    items = "".join(tag("li", text(line)) for line in told)
    return f'<section id="recording">{tag("h2", "Recording")}{tag("ul", items, class_="notes")}</section>'
