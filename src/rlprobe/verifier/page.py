"""The page of a check, made of its definition, of what is shared by its stage and pitfall, and of a measured table.

The table beside this file is written by `python -m bench.catalog.checks`.
"""

import json
from collections.abc import Mapping
from functools import cache
from importlib import resources

from rlprobe.recording.settings import setting
from rlprobe.verifier import page_texts as texts
from rlprobe.verifier.catalog import Entry, entry
from rlprobe.verifier.selftest import mutants
from rlprobe.verifier.selftest.mutant import Mutant, source_of

_UNSHOWN = "Each violation is told with what was expected, what came, and the smallest input that shows it."
HEADINGS = (
    "What must hold",
    "Why it matters",
    "What it looks like",
    "What looks like it and is not",
    "How it is tried",
    "How sure",
    "What to do when it fails",
    "What must be handed over",
    "What to record",
    "What it belongs to",
    "Sources",
)


def page(name: str) -> str:
    """The page of a check as Markdown.

    Raises:
        UnknownCheck: there is no such check.
    """
    found = entry(name)
    check = found.check
    needs = ", ".join(f"`{need.replace('|', '` or `')}`" for need in check.needs) or "nothing beyond the settings"
    seen = f" In a run such a fault is seen as {', '.join(check.causes)}." if check.causes else ""
    bodies = (
        f"{_sentence(check.title)} {found.invariant}\n\n```text\n{check.formula}\n```",
        texts.MECHANICS[check.category],
        _looks(found),
        texts.LOOK_ALIKES[check.stage],
        _sentence((found.run.__doc__ or "").strip()),
        _sure(check.id),
        _remedy(found),
        f"{needs}. Stage: {check.stage}.",
        texts.RECORD[check.stage],
        f"Pitfall category: {check.category}.{seen}",
        "\n".join(f"- {source}" for source in _sources(found)),
    )
    sections = [f"## {heading}\n\n{body}" for heading, body in zip(HEADINGS, bodies, strict=True)]
    return "\n\n".join([f"# {check.id}", *sections]) + "\n"


def _looks(found: Entry) -> str:
    row = measured(found.check.id)
    if "mutant" not in row:
        written = texts.WRITTEN.get(found.check.id)
        return _lines(*written, "A mistake of this kind, written by hand.") if written else _UNSHOWN
    shown = mutants.named(str(row["base"]), str(row["mutant"]))
    said = f"The check says: “{row['said']}”"
    named = f"A seeded bug of the self-test: {shown.id.replace('-', ' ')}."
    fingerprint = f" Recognised as: {row['fingerprint']}." if row["fingerprint"] else ""
    return f"{_lines(*_changed(shown), named)}\n\n{said}{fingerprint}"


def _lines(right: str, wrong: str, named: str) -> str:
    return f"```text\nright:  {_indented(right)}\nwrong:  {_indented(wrong)}\n```\n\n{named}"


def _indented(lines: str) -> str:
    return lines.replace("\n", "\n        ")


def _changed(shown: Mutant) -> tuple[str, str]:
    """The lines of the correct source that the mutant changes, whole, and what it makes of them."""
    text = source_of(shown.base)
    start = text.index(shown.old)
    head = text.rfind("\n", 0, start) + 1
    tail = text.find("\n", start + len(shown.old.rstrip("\n")))
    tail = len(text) if tail < 0 else tail
    before = text[head:start]
    after = text[start + len(shown.old) : tail]
    right, wrong = before + shown.old + after, before + shown.new + after
    width = len(right) - len(right.lstrip(" "))
    return _dedented(right, width), _dedented(wrong, width) or "(the line is missing)"


def _dedented(lines: str, width: int) -> str:
    return "\n".join(line[width:] if not line[:width].strip() else line for line in lines.rstrip().split("\n"))


def _sure(id: str) -> str:
    row, table = measured(id), _table()
    answered, blamed = int(str(row["answered"])), int(str(row["blamed"]))
    spoke = f"spoke up on {blamed}" if blamed else "never spoke up"
    quiet = f"Of {table['pipelines']} correct pipelines {answered} gave it something to judge, and it {spoke}."
    if not answered:
        quiet = f"None of {table['pipelines']} correct pipelines gives it something to judge."
    if not row["found"]:
        return f"{quiet} None of the {table['mutants']} seeded bugs is of its kind; tests of its own hold it."
    return (
        f"{quiet} It speaks of {row['found']} of {table['mutants']} seeded one-line bugs (`rlprobe verify --selftest`)."
    )


def _remedy(found: Entry) -> str:
    check = found.check
    named = [spelled for name in texts.CHECK_SETTINGS.get(check.id, ()) if (spelled := setting(name).spelled)]
    settings = "".join(f"\n- {spelled}" for spelled in named)
    again = f"2. Run it alone: `rlprobe verify TARGET --only {check.id}`.\n3. Run all again: one fault hides another."
    steps = f"1. {check.fix}\n{again}"
    return f"{steps}\n\nThe setting, by trainer:\n{settings}" if settings else steps


def _sources(found: Entry) -> tuple[str, ...]:
    id = found.check.id
    nearer = [sources for first, last, sources in texts.RANGE_SOURCES if first <= id <= last]
    return nearer[0] if nearer else texts.STAGE_SOURCES[found.check.stage]


def measured(id: str) -> Mapping[str, object]:
    """The check's row of the table: how many seeded bugs it finds, on how many correct pipelines it spoke, one bug."""
    rows = _table()["checks"]
    assert isinstance(rows, dict)
    row: Mapping[str, object] = rows.get(id, {"found": 0, "answered": 0, "blamed": 0})
    return row


@cache
def _table() -> Mapping[str, object]:
    raw = resources.files(__package__).joinpath("mistakes.json").read_text(encoding="utf-8")
    table: Mapping[str, object] = json.loads(raw)
    return table


def _sentence(text: str) -> str:
    started = text[:1].upper() + text[1:]
    return started if started.endswith((".", "!", "?")) else f"{started}."
