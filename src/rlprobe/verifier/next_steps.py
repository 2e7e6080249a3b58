"""What to type or hand over next, after a check and after a whole verification; TARGET stands for the user's code."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from rlprobe.verifier.outcome import Outcome
from rlprobe.verifier.pipeline import FUNCTIONS

CONFIGURATION = "config."  # what a missing setting is called by
MOST_WANTED = 3  # things to hand over that a report leads on to; every check names its own


class Told(Protocol):
    """What is used of a check's result."""

    @property
    def id(self) -> str:
        """The id of the check."""

    @property
    def outcome(self) -> Outcome:
        """Its answer."""


def of_check(result: Told) -> str:
    """After a violation the command that runs the check alone; after a silence what to hand over; "" after the rest."""
    if result.outcome.status in ("fail", "warn"):
        return f"rlprobe verify TARGET --only {result.id}"
    missing = result.outcome.missing if result.outcome.status == "not_checkable" else ()
    return f"{_handing_over(missing)} --only {result.id}" if missing else ""


def of_report(results: Iterable[Told], missing: Sequence[str]) -> list[str]:
    """After a verification: the first violation's page and command, the comparison to come, what to hand over."""
    told = list(results)
    worst = [result for status in ("fail", "warn") for result in told if result.outcome.status == status]
    commands = [f"rlprobe explain {worst[0].id}", of_check(worst[0])] if worst else []
    if any(result.outcome.status == "fail" for result in told):
        commands.append("rlprobe verify TARGET --diff REPORT.json")
    return commands + [_handing_over([name]) for name in missing[:MOST_WANTED]]


def _handing_over(missing: Sequence[str]) -> str:
    """A command line where functions are missing, the Pipeline's argument and the command where anything else is."""
    names = [name.partition("|")[0] for name in missing]
    if all(name in FUNCTIONS for name in names):
        options = " ".join(f"--{name.replace('_', '-')} MODULE:FUNCTION" for name in names)
        return f"rlprobe verify {options}"
    settings = [name.removeprefix(CONFIGURATION) for name in names if name.startswith(CONFIGURATION)]
    given = [f"{name}=..." for name in names if not name.startswith(CONFIGURATION)]
    given += [f"config={{{', '.join(f'{name!r}: ...' for name in settings)}}}"] if settings else []
    return f"Pipeline({', '.join(given)}) in TARGET, then: rlprobe verify TARGET"
