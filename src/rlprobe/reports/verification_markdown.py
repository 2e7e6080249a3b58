"""A verification as Markdown, for a pull request or an issue."""

from itertools import groupby

from rlprobe.reports.format import plain
from rlprobe.reports.verification import STAGE_NAMES, argument, gate
from rlprobe.verifier.report import Report, Result


def render(report: Report) -> str:
    """The page: a table of stages, then every finding with the snippet that shows it."""
    lines = [
        "# rlprobe verify",
        "",
        gate(report),
        "",
        "| stage | violated | to look at | hold | not checkable |",
        "|---|---|---|---|---|",
    ]
    for stage, group in groupby(report.results, key=lambda result: result.stage):
        results = list(group)
        counts = [sum(result.status == s for result in results) for s in ("fail", "warn", "pass", "not_checkable")]
        lines.append(f"| {STAGE_NAMES[stage]} | {' | '.join(map(str, counts))} |")
    for result in report.findings:
        lines += ["", *_finding(result)]
    if report.measured:
        lines += ["", "## Measured", ""]
        lines += [f"- {_text(name)}: {_text(value)}" for name, value in sorted(report.measured.items())]
    return "\n".join(lines) + "\n"


def _finding(result: Result) -> list[str]:
    outcome = result.outcome
    lines = [f"## {result.status.upper()} {result.id}: {_text(result.check.title)}", "", _text(outcome.statement)]
    details = [("stage", STAGE_NAMES[result.stage]), ("function", outcome.slot), ("where", result.where)]
    details += [
        ("expected", outcome.expected),
        ("got", outcome.got),
        ("looks like", outcome.fingerprint),
        ("try", result.fix),
    ]
    details += [(f"input {role}", argument(value)) for role, value in outcome.example.items()]
    lines += ["", *(f"- {name}: {_text(value)}" for name, value in details if value)]
    lines.append(f"- more: `rlprobe explain {result.id}`")
    repro = result.repro()
    if repro:
        fence = "`" * (3 + repro.count("```"))
        lines += ["", f"{fence}python", *map(plain, repro.splitlines()), fence]
    return lines


def _text(value: object) -> str:
    """Foreign text as Markdown shows it and nothing more."""
    return "".join(f"\\{sign}" if sign in "\\`*_[]<>#|" else sign for sign in plain(value))
