"""Runs under a folder, one line a run, with the worst that the doctor finds in it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.table import Table
from rich.text import Text

from rlprobe.doctor.finding import Diagnosis
from rlprobe.reports import format as say
from rlprobe.reports import next_steps, phrases
from rlprobe.reports.canvas import draw

STYLES = {
    "failing": "bold red",
    "attention": "bold yellow",
    "healthy": "green",
    "unknown": "cyan",
    "unreadable": "magenta",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """One run: its diagnosis, or the line that says why it cannot be read."""

    source: str
    diagnosis: Diagnosis | None
    problem: str = ""


def render(runs: Sequence[Listed], *, width: int, color: bool) -> str:
    """One line a run."""
    grid = Table.grid(padding=(0, 2))
    for index in range(5):
        grid.add_column(justify="right" if index == 1 else "left", overflow="fold", no_wrap=index in (1, 2, 3))
    grid.add_row(*(Text(head, style="bold") for head in ("run", "steps", "state", "verdict", "worst finding")))
    for run in runs:
        verdict, last, state, worst = _line(run)
        cells = Text(say.plain(run.source)), Text(last), Text(state), Text(verdict, style=STYLES[verdict]), Text(worst)
        grid.add_row(*cells)
    return draw(grid, width=width, color=color)


def document(runs: Sequence[Listed]) -> Mapping[str, object]:
    """The list as a tree for JSON."""
    return {"schema": "rlprobe.listing/1", "runs": [_entry(run) for run in runs]}


def _line(run: Listed) -> tuple[str, str, str, str]:
    """Verdict, last step, state and worst finding."""
    if run.diagnosis is None:
        return "unreadable", say.MISSING, say.MISSING, say.plain(run.problem)
    told = run.diagnosis
    worst = told.worst_finding()
    named = "" if worst is None else f"{phrases.name(worst)} since step {worst.onset_step}"
    last = say.MISSING if told.steps is None else str(told.steps[1])
    state = say.MISSING if told.state == "unknown" else phrases.state(told.state)
    return told.verdict, last, state, named


def _entry(run: Listed) -> Mapping[str, object]:
    told = run.diagnosis
    if told is None:
        return {"source": run.source, "problem": run.problem, "next": []}
    worst = told.worst_finding()
    return {
        "source": run.source,
        "format": told.format,
        "algorithm": told.algorithm,
        "steps": told.steps,
        "rows": told.rows,
        "state": told.state,
        "verdict": told.verdict,
        "worst": None if worst is None else {"key": worst.key, "id": worst.id, "severity": worst.severity},
        "next": next_steps.of_run(run.source, told.verdict),
    }
