"""The top of the page: what is read, the verdict in a sentence, and the headline numbers."""

from rlprobe.reports import format as say
from rlprobe.reports import phrases
from rlprobe.reports.html.dossier import Dossier, Vital
from rlprobe.reports.html.drawing import spark
from rlprobe.reports.html.markup import lines, tag, text

SECTIONS = (  # anchor, name; in the order of the page
    ("findings", "Findings"),
    ("charts", "Charts"),
    ("samples", "Samples"),
    ("setup", "Configuration"),
    ("silences", "Not checked"),
)


def masthead(dossier: Dossier) -> str:
    """The bar that stays: name, sections, light or dark."""
    links = "".join(tag("a", name, href=f"#{anchor}") for anchor, name in SECTIONS)
    return lines(
        (
            tag("a", "Skip to the verdict", class_="skip", href="#verdict"),
            '<header class="masthead">',
            tag("span", "rlprobe", class_="brand") + tag("span", text(dossier.diagnosis.source), class_="source"),
            tag("nav", links, aria_label="Sections"),
            '<button type="button" id="theme" class="quiet script" aria-label="Light or dark">Theme</button>',
            "</header>",
        )
    )


def verdict(dossier: Dossier) -> str:
    """The verdict, the sentence, and what was read."""
    diagnosis = dossier.diagnosis
    badge = tag("span", text(diagnosis.verdict), class_=f"badge {diagnosis.verdict}")
    facts = "".join(tag("li", text(fact)) for fact in phrases.facts(diagnosis))
    live = ""
    if diagnosis.state == "recording":
        upto = "" if diagnosis.steps is None else f" It shows the run up to step {diagnosis.steps[1]}."
        live = tag("p", f"Training was still going on when this page was made.{upto}", class_="live")
    lost = "".join(tag("li", text(line)) for line in phrases.losses(diagnosis))
    return lines(
        (
            f'<section id="verdict" class="verdict {diagnosis.verdict}" aria-label="Verdict">',
            tag("h1", f"{badge} {tag('span', text(diagnosis.sentence))}"),
            tag("ul", facts, class_="facts"),
            live,
            _scope(dossier),
            tag("ul", lost, class_="lost") if lost else "",
            _vitals(dossier),
            "</section>",
        )
    )


def _scope(dossier: Dossier) -> str:
    """How much was checked: a verdict is worth that much."""
    checked, not_checked = len(dossier.diagnosis.checked), len(dossier.diagnosis.not_checked)
    if not checked and not not_checked:
        return ""
    told = f"{say.counted(checked, 'signature')} checked"
    if not_checked:
        told += f", {tag('a', f'{not_checked:,} not checked', href='#silences')}"
    return tag("p", f"{told}.", class_="scope")


def _vitals(dossier: Dossier) -> str:
    if not dossier.vitals:
        return ""
    onset = next((one.onset_step for one in dossier.findings if one.severity != "info"), None)
    mark = None
    if onset is not None and dossier.domain is not None and dossier.domain[1] > dossier.domain[0]:
        mark = (onset - dossier.domain[0]) / (dossier.domain[1] - dossier.domain[0])
    return tag(
        "ul", "".join(_vital(one, mark) for one in dossier.vitals), class_="vitals", aria_label="Headline numbers"
    )


def _vital(one: Vital, mark: float | None) -> str:
    number, _, unit = say.quantity(one.last, one.unit).partition(" ")
    level = tag("strong", text(number)) + (tag("small", text(unit)) if unit else "")
    first = tag(
        "span", f"from {text(say.quantity(one.first, one.unit).partition(' ')[0] if unit else say.number(one.first))}"
    )
    return tag(
        "li", tag("span", text(one.metric), class_="metric") + tag("p", level) + first + spark(one.drawn, mark=mark)
    )
