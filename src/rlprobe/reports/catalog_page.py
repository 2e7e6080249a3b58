"""The whole page of an id, one text for the terminal, the site and programs.

What is written by hand lies beside the signature; added here are its chart, how sure it is, the names of the settings
that its remedies change, and the checks of the verifier that confirm it.
"""

import difflib
import re
from collections.abc import Iterable, Mapping

from rlprobe.doctor import catalog, reassurance_page
from rlprobe.doctor.calibration import ENOUGH, confidence, counted
from rlprobe.doctor.charts import chart
from rlprobe.doctor.signature import Signature
from rlprobe.recording.settings import setting
from rlprobe.reports import chart as drawing
from rlprobe.verifier import catalog as checks
from rlprobe.verifier import page as check_page

_MOST_NAMED = 5  # ids that a message names
CHART = "chart"  # language of the fenced block that the site replaces by a drawing
SIGNATURE_HEADINGS = (
    "What you see",
    "What it looks like",
    "Why it happens",
    "What to do",
    "The settings, by trainer",
    "What must be logged",
    "Easily confused with",
    "How sure",
    "Example",
    "Checks of your code",
    "Sources",
)


class UnknownPage(ValueError):
    """No signature, reassurance or check has that id; the message names those that may be meant."""


def page(name: str) -> tuple[str, str]:
    """Id and Markdown of a check, a reassurance or a signature, by id or alias in any case, with blanks, hyphens or
    underscores between its words.

    Raises:
        UnknownPage: there is none.
    """
    try:
        return _page(re.sub(r"[\s-]+", "_", name.strip()))
    except (catalog.UnknownSignature, checks.UnknownCheck):
        close = _meant(name)
        hint = f"Closest: {', '.join(close)}." if close else "See `rlprobe explain --list`."
        raise UnknownPage(f"explain: expected the id of a finding or a check, got {name[:80]!r}. {hint}") from None


def _meant(name: str) -> list[str]:
    """Ids that begin with the name or hold it; where there is none, those that begin much like it."""
    wanted, known = re.sub(r"[\s-]+", "_", name.strip()[:80]).upper(), ids()
    begin = [id for id in known if wanted and id.startswith(wanted)]
    hold = [id for id in known if len(wanted) > 2 and wanted in id]
    if begin or hold:
        return list(dict.fromkeys(begin + hold))[:_MOST_NAMED]
    beginnings = {id: id[: len(wanted)] for id in known if not checks.is_id(id)}
    close = difflib.get_close_matches(wanted, set(beginnings.values()), n=3, cutoff=0.7)
    return [id for one in close for id, beginning in beginnings.items() if beginning == one][:_MOST_NAMED]


def _page(name: str) -> tuple[str, str]:
    if checks.is_id(name):
        check = checks.entry(name).check
        return check.id, check_page.page(name) if not check.causes else _with_findings(
            check_page.page(name), check.causes
        )
    if normal := reassurance_page.find(name):
        return normal.id, reassurance_page.alone(normal)
    found = catalog.entry(name)
    return found.signature.id, _signature(found.signature, catalog.page(name), own=found.module.startswith("rlprobe."))


def document(name: str) -> Mapping[str, object]:
    """The page as a tree for JSON, with its kind and title, and the command that tries the user's code for it.

    Raises:
        UnknownPage: there is none.
    """
    id, text = page(name)
    if checks.is_id(id):
        kind, title, tried = "check", checks.entry(id).check.title, True
    elif normal := reassurance_page.find(id):
        kind, title, tried = "reassurance", normal.title, False
    else:
        kind, title, tried = "signature", catalog.entry(id).signature.title, bool(_checks(id))
    then = [f"rlprobe verify TARGET --only {id}"] if tried else []
    return {"schema": "rlprobe.page/1", "id": id, "kind": kind, "title": title, "markdown": text, "next": then}


def ids() -> tuple[str, ...]:
    """Every id that has a page: signatures, reassurances, checks."""
    signatures = [entry.signature.id for entry in catalog.entries()]
    normals = [entry.normal.id for entry in catalog.normals()]
    return (*signatures, *normals, *(entry.check.id for entry in checks.entries()))


def _signature(signature: Signature, written: str, *, own: bool) -> str:
    if not own:
        return written
    head, *pieces = re.split(r"^## (.+)$", written, flags=re.MULTILINE)
    sections = {heading: body.strip() for heading, body in zip(pieces[::2], pieces[1::2], strict=True)}
    added = {
        "What it looks like": _looks(signature.id),
        "The settings, by trainer": _settings(signature, written),
        "How sure": _sure(signature),
        "Checks of your code": _checks(signature.id),
    }
    bodies = [(heading, {**sections, **added}[heading]) for heading in SIGNATURE_HEADINGS]
    aliases = f" Also known as {', '.join(signature.aliases)}." if signature.aliases else ""
    told = f"{signature.title}. Stage: {signature.stage}. Severity: {signature.severity}.{aliases}"
    kept = [f"## {heading}\n\n{body}\n" for heading, body in bodies if body]
    return f"{head.strip()}\n\n{told}\n\n" + "\n".join(kept)


def _looks(id: str) -> str:
    drawn = chart(id)
    return f"```{CHART}\n{drawing.text(drawn)}\n```" if drawn else ""


def _settings(signature: Signature, written: str) -> str:
    """Settings of the remedies that the text does not name itself."""
    names = dict.fromkeys(advice.setting for advice in signature.remedies if advice.setting)
    entries = [setting(name) for name in names]
    lines = [
        f"- {one.meaning[:1].upper()}{one.meaning[1:]}: {one.spelled}"
        for one in entries
        if one.spelled and one.spelled not in written
    ]
    return "\n".join(lines)


def _sure(signature: Signature) -> str:
    """The measured frequency, and on how many findings."""
    own, told = counted(signature.id), confidence(signature)
    if told.value is None or told.interval is None:
        return "No finding of this kind was in the corpus: its frequency is not measured."
    low, high = (f"{100 * bound:.0f}" for bound in told.interval)
    said = f"{100 * told.value:.0f} % ({low} to {high} %)"
    if not told.pooled:
        return f"Right in {own[0]} of {own[1]} findings on the labelled corpus and the lab. Told as {said}."
    alone = f"Right in {own[0]} of {own[1]} findings" if own[1] else "No finding of its own was in the corpus"
    return (
        f"{alone}; below {ENOUGH} a signature is told with the frequency of its kind of evidence "
        f"({signature.arm}): {said} of {told.examples} findings."
    )


def _checks(id: str) -> str:
    found = [entry.check for entry in checks.entries() if id in entry.check.causes]
    listed = "\n".join(f"- {check.id}: {check.title}" for check in found)
    return f"`rlprobe verify TARGET --only {id}` runs them.\n\n{listed}" if found else ""


def _with_findings(text: str, causes: Iterable[str]) -> str:
    """The check's page with the title of each finding that it causes, and what to log so that it is seen."""
    known = {entry.signature.id: entry.signature for entry in catalog.entries()}
    lines = [f"- {id}: {known[id].title}. {known[id].record}" for id in causes if id in known]
    head, mark, tail = text.partition("\n\n## What it belongs to")
    return head + "\n\n" + "\n".join(lines) + mark + tail
