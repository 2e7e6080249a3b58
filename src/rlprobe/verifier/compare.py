"""What changed between an earlier report and this one: fixed, new, still there, no longer checked."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from rlprobe.verifier.report import SCHEMA, Report

LARGEST_BYTES = 64 * 1024 * 1024  # a report is a few hundred kilobytes


class UnreadableReport(ValueError):
    """A file that is no report of `rlprobe verify --json`; the message says what was found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Ids of checks by what became of them; `lost` failed before and cannot be checked now."""

    fixed: tuple[str, ...]
    new: tuple[str, ...]
    still: tuple[str, ...]
    lost: tuple[str, ...]


def statuses(text: str, name: str) -> dict[str, str]:
    """Status by check id of a report in JSON.

    Raises:
        UnreadableReport: it is no such report.
    """
    how = "Make one with `rlprobe verify TARGET --json > FILE`."
    if len(text) > LARGEST_BYTES:
        raise UnreadableReport(f"{name}: expected a report of `rlprobe verify`, got {len(text)} characters. {how}")
    try:
        tree = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UnreadableReport(f"{name}: expected JSON, got something else ({str(error)[:80]}). {how}") from error
    if not isinstance(tree, Mapping) or tree.get("schema") != SCHEMA:
        got = tree.get("schema") if isinstance(tree, Mapping) else type(tree).__name__
        raise UnreadableReport(f"{name}: expected a report with schema {SCHEMA}, got {str(got)[:80]!r}. {how}")
    found = {}
    for check in tree.get("checks", ()):
        if isinstance(check, Mapping) and isinstance(check.get("id"), str) and isinstance(check.get("status"), str):
            found[check["id"]] = check["status"]
    return found


def compare(before: Mapping[str, str], report: Report) -> Change:
    """What became of every check since."""
    now = {result.id: result.status for result in report.results}
    failed_before = [name for name, status in before.items() if status == "fail"]
    return Change(
        fixed=tuple(sorted(name for name in failed_before if now.get(name) in ("pass", "warn"))),
        new=tuple(sorted(name for name, status in now.items() if status == "fail" and before.get(name) != "fail")),
        still=tuple(sorted(name for name in failed_before if now.get(name) == "fail")),
        lost=tuple(
            sorted(n for n in failed_before if now.get(n, "not_checkable") in ("not_checkable", "not_applicable"))
        ),
    )
