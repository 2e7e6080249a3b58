"""One thing that happened to a watched run, as a line for a person and as an object for a program."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from rlprobe.doctor.finding import Diagnosis, Finding
from rlprobe.guardian.following import Change
from rlprobe.reports import json as documents
from rlprobe.reports import phrases
from rlprobe.reports.format import plain

SCHEMA = "rlprobe.watch/1"
NewsKind = Literal[
    "waiting", "opened", "new", "worse", "eased", "recovered", "withdrawn", "passed", "known", "went_back", "silent",
    "alive", "rank_lost", "crashed", "resumed", "ended", "halt", "would_halt", "trouble",
]  # fmt: skip
_WORDS = {
    "new": "NEW",
    "worse": "WORSE",
    "eased": "EASED",
    "recovered": "RECOVERED",
    "withdrawn": "WITHDRAWN",
    "passed": "PASSED",
    "known": "STILL",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """What happened.

    Attributes:
        kind: "known" is a finding that an earlier watch told; "trouble" is the guardian's own.
        text: one line.
        run: the run's source; "" when it concerns none.
        step: last step judged when it happened; None when there is none.
        name, severity: of the finding, "" when it concerns none.
        finding: the finding as it is now; None when there is none.
        diagnosis: what the finding belongs to, for programs.
    """

    kind: NewsKind
    text: str
    run: str = ""
    step: int | None = None
    name: str = ""
    severity: str = ""
    finding: Finding | None = None
    diagnosis: Diagnosis | None = field(default=None, repr=False, compare=False)


def of_change(change: Change, diagnosis: Diagnosis, *, known: bool = False) -> News:
    """A finding's change as news."""
    kind: NewsKind = "known" if known else change.kind
    return News(
        kind=kind,
        text=f"{_WORDS[kind]} {change.severity} {_sentence(change)}",
        run=diagnosis.source,
        step=None if diagnosis.steps is None else diagnosis.steps[1],
        name=change.name,
        severity=change.severity,
        finding=change.finding,
        diagnosis=diagnosis,
    )


def _sentence(change: Change) -> str:
    found = change.finding
    if found is None:
        return f"{plain(change.name)}: training went back, or a value came late, and it does not hold any more"
    seen = f": {plain(found.evidence[0].metric)} {phrases.change(found.evidence[0])}" if found.evidence else ""
    where = f", after {plain(found.consequence_of)}" if found.consequence_of else ""
    when = (
        f"recovered at step {found.recovered_step}" if change.kind == "recovered" else f"since {phrases.onset(found)}"
    )
    return f"{phrases.name(found)}, {when}{where}: {plain(found.title)}{seen}"


def line(news: News, *, several: bool, clock: str) -> str:
    """The news as one plain line that ends in a line break."""
    run = f" {plain(news.run)}:" if several and news.run else ""
    step = f" [step {news.step}]" if news.step is not None else ""
    return f"{clock}{run}{step} {plain(news.text)}".lstrip() + "\n"


def record(news: News, now: float) -> str:
    """The news as one line of JSON, with the finding as `rlprobe doctor --json` has it."""
    out: dict[str, object] = {"schema": SCHEMA, "time": round(now, 3), "kind": news.kind, "run": news.run}
    out |= {"step": news.step, "name": news.name, "severity": news.severity, "text": plain(news.text)}
    if news.finding is not None and news.diagnosis is not None:
        found = document_of(news.diagnosis)["findings"]
        if isinstance(found, Sequence):
            out["finding"] = next((one for one in found if one["key"] == news.finding.key), None)
    return json.dumps(out, ensure_ascii=True, allow_nan=False) + "\n"


def ending(diagnosis: Diagnosis, now: float) -> str:
    """The last line of a watched run: the whole diagnosis."""
    out = {"schema": SCHEMA, "time": round(now, 3), "kind": "diagnosis", "run": diagnosis.source}
    return json.dumps(out | {"diagnosis": document_of(diagnosis)}, ensure_ascii=True, allow_nan=False) + "\n"


def document_of(diagnosis: Diagnosis) -> dict[str, object]:
    """The diagnosis as the tree that `rlprobe doctor --json` prints."""
    tree = json.loads(documents.render(diagnosis))
    return tree if isinstance(tree, dict) else {}
