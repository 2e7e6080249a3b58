"""The tables of docs/recording-format.md, generated from the code: `python -m rlprobe.recording.tables [--check]`."""

import argparse
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from rlprobe.recording.layout import EVENT_KINDS, SAMPLE_COLUMNS
from rlprobe.recording.metrics import METRICS
from rlprobe.recording.validate import RULES

_BLOCK = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, tuple("-" for _ in head), *rows]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") or " " for cell in line) + " |\n" for line in lines)


def _events() -> str:
    rows = ((f"`{kind.name}`", kind.fields, kind.meaning) for kind in EVENT_KINDS)
    return _table(("kind", "fields", "meaning"), rows)


def _samples() -> str:
    rows = ((f"`{column.name}`", column.type, column.meaning) for column in SAMPLE_COLUMNS)
    return _table(("column", "type", "meaning"), rows)


def _rules() -> str:
    return _table(("id", "rule"), ((f"`{rule.id}`", rule.demand) for rule in RULES))


def _range(low: float | None, high: float | None) -> str:
    return (
        ""
        if low is None and high is None
        else f"{'' if low is None else f'{low:g}'} .. {'' if high is None else f'{high:g}'}"
    )


def _metrics() -> str:
    rows = ((f"`{m.name}`", m.unit, _range(m.low, m.high), m.aggregation, m.meaning) for m in METRICS)
    return _table(("metric", "unit", "range", "aggregation", "meaning"), rows)


TABLES: dict[str, Callable[[], str]] = {"events": _events, "samples": _samples, "rules": _rules, "metrics": _metrics}


def filled(page: str) -> str:
    """The page with every table generated anew.

    Raises:
        KeyError: the page asks for a table that there is not.
    """
    return _BLOCK.sub(lambda found: found[1] + TABLES[found[2]]() + found[3], page)


def main() -> int:
    """Write the tables into the page, or say whether it has them already."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 when the page is out of date")
    parser.add_argument("page", nargs="?", type=Path, default=Path("docs/recording-format.md"))
    arguments = parser.parse_args()
    page = arguments.page.read_text(encoding="utf-8")
    if arguments.check:
        return int(page != filled(page))
    arguments.page.write_text(filled(page), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
