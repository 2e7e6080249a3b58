"""A Diagnosis as Markdown, for an issue, a pull request or a chat: order and words of the terminal page."""

import re
from collections.abc import Iterable

from rlprobe.doctor.finding import Diagnosis, Evidence, Finding, Remedy
from rlprobe.reports import format as say
from rlprobe.reports import phrases
from rlprobe.reports.outline import Chapter, Silence, outline

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~&@!$])")  # & and @ too: no entities, nobody is notified by a foreign text
_BULLET = re.compile(r"^(\s*)([-+=])")  # what would start a list or a rule at the beginning of a line
_NUMBERED = re.compile(r"^(\s*\d+)([.)])(?=\s|$)")


def render(diagnosis: Diagnosis) -> str:
    """The page as Markdown that ends in a line break."""
    arranged = outline(diagnosis)
    blocks = [
        f"## {diagnosis.verdict.upper()}: {words(diagnosis.sentence)}",
        words(" · ".join(phrases.facts(diagnosis))),
    ]
    for chapter in arranged.chapters:
        blocks += _chapter(chapter, diagnosis.source)
    if arranged.others:
        blocks.append("### Other findings")
        for finding in arranged.others:
            blocks += _finding(finding, (), diagnosis.source)
    if diagnosis.reassurances:
        blocks.append("### Looks alarming, is normal in this run")
        for entry in diagnosis.reassurances:
            blocks.append(f"**{words(entry.title)}** ({code(entry.id)}): {words(entry.explanation)}")
            blocks += _evidence(entry.evidence)
    if arranged.silences:
        blocks += ["### Not checked", _lines(_silence(silence) for silence in arranged.silences)]
    if lost := [*phrases.losses(diagnosis), *diagnosis.notes]:
        blocks += ["### Recording", _lines(f"- {words(line)}" for line in lost)]
    return "\n\n".join(blocks) + "\n"


def words(text: object) -> str:
    """Foreign text that Markdown shows letter by letter."""
    escaped = _SPECIAL.sub(r"\\\1", say.plain(text))
    return _NUMBERED.sub(r"\1\\\2", _BULLET.sub(r"\1\\\2", escaped))


def code(text: object) -> str:
    """Foreign text as a code span; the fence is longer than any run of backticks inside."""
    line = say.plain(text)
    fence = "`" * (max((len(run) for run in re.findall("`+", line)), default=0) + 1)
    pad = " " if "`" in line or not line.strip() else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def _chapter(chapter: Chapter, source: str) -> list[str]:
    return _finding(chapter.root, chapter.consequences, source, first_mover=chapter.incident.first_mover)


def _finding(finding: Finding, consequences: tuple[Finding, ...], source: str, *, first_mover: str = "") -> list[str]:
    measured = say.sentence_case(phrases.confidence(finding.confidence))
    blocks = [
        f"### {finding.severity.upper()}: {words(finding.title)} ({code(phrases.name(finding))})",
        words(f"Since {phrases.onset(finding)}, {phrases.status(finding)}. {measured}."),
        words(finding.explanation),
        *_evidence(finding.evidence),
    ]
    if consequences:
        moved = f", {code(first_mover)} moved first" if first_mover else ""
        blocks.append(f"**{phrases.followed(finding)}**{moved}:")
        blocks.append(_lines(_consequence(entry, finding) for entry in consequences))
    if finding.remedies:
        blocks += ["**What to try**", _lines(_remedy(n, entry) for n, entry in enumerate(finding.remedies, start=1))]
    return blocks + _next(finding, source)


def _evidence(entries: tuple[Evidence, ...]) -> list[str]:
    if not entries:
        return []
    rows = (f"| {_cell(entry.metric)} | {words(phrases.change(entry))} |" for entry in entries)
    return [_lines(("| metric | before → after |", "|---|---|", *rows))]


def _cell(metric: str) -> str:
    return code(metric).replace("|", "\\|")  # a table splits its row before it reads code spans


def _consequence(finding: Finding, root: Finding) -> str:
    after = "" if finding.consequence_of in (None, root.key) else f", after {code(finding.consequence_of)}"
    seen = "".join(f"; {code(entry.metric)} {words(phrases.change(entry))}" for entry in finding.evidence[:1])
    ended = f", {phrases.status(finding)}" if finding.status == "recovered" else ""
    named = f"{words(finding.title)} ({code(phrases.name(finding))}, {finding.severity})"
    return f"- → step {finding.onset_step}: {named}{after}{ended}{seen}"


def _remedy(index: int, remedy: Remedy) -> str:
    changed = phrases.setting(remedy)
    return f"{index}. {words(remedy.text)}" + (f" {code(changed)}" if changed else "")


def _next(finding: Finding, source: str) -> list[str]:
    lines = []
    if (step := finding.rollback_step) is not None:
        lines.append(f"- Roll back to the checkpoint of step {step}, the last one before the onset.")
    if finding.samples:
        lines.append(
            f"- Samples: {', '.join(map(code, finding.samples))} ({code(phrases.show_command(finding, source))})"
        )
    if finding.page:
        lines.append(f"- More: {code(f'rlprobe explain {finding.page}')}")
    return [_lines(lines)] if lines else []


def _silence(silence: Silence) -> str:
    named = ", ".join(code(entry.id) for entry in silence.entries)
    return f"- {words(phrases.silence(silence.reason, silence.missing, len(silence.entries)))}: {named}"


def _lines(lines: Iterable[str]) -> str:
    return "\n".join(lines)
