"""A verification as SARIF 2.1.0 (OASIS standard, 2020), the form in which code hosts take findings on lines of code."""

import json
import os

from rlprobe.reports.format import plain
from rlprobe.verifier.report import Report, Result

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS = {"fail": "error", "warn": "warning"}


def render(report: Report, *, version: str, root: str) -> str:
    """The document; paths under `root` are told relative to it."""
    rules = [
        {
            "id": result.id,
            "shortDescription": {"text": result.check.title},
            "help": {"text": f"rlprobe explain {result.id}"},
        }
        for result in report.findings
    ]
    driver = {"name": "rlprobe verify", "version": version, "rules": rules}
    results = [_result(result, index, root) for index, result in enumerate(report.findings)]
    tree = {"$schema": SCHEMA, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]}
    return json.dumps(tree, indent=2) + "\n"


def _result(result: Result, index: int, root: str) -> dict[str, object]:
    outcome = result.outcome
    told = [outcome.statement, f"Expected {outcome.expected}." if outcome.expected else "", result.fix]
    found: dict[str, object] = {
        "ruleId": result.id,
        "ruleIndex": index,
        "level": LEVELS[result.status],
        "message": {"text": plain(" ".join(part for part in told if part))},
    }
    place, _, line = result.where.rpartition(":")
    if place and line.isdecimal():
        found["locations"] = [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": _uri(place, root)},
                    "region": {"startLine": max(1, int(line))},
                }
            }
        ]
    return found


def _uri(place: str, root: str) -> str:
    absolute = os.path.abspath(place)
    inside = absolute.startswith(os.path.join(root, ""))
    return os.path.relpath(absolute, root).replace(os.sep, "/") if inside else absolute
