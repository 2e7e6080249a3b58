"""The two blocks of the README that nobody writes by hand: `python -m bench.readme`.

The diagnosis is the one of docs/diagnosis.svg, as text. The numbers are the newest line that
`python -m bench.doctor --keep` has added to bench/doctor/history.jsonl, with its date, commit and machine.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
HISTORY = ROOT / "bench" / "doctor" / "history.jsonl"
CUT = "\n\n   What came with it"  # the README shows the verdict, the first finding and its evidence


class Unfilled(ValueError):
    """The README has no such block, or the history holds nothing to fill it with."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the table: what was measured, and how it is told.

    Attributes:
        what: the measurement.
        told: the result, with the history's keys as fields; the line is left out where the history lacks one.
    """

    what: str
    told: str


LINES = (
    Line("real healthy runs with a false alarm", "{healthy_alarms} of {healthy_runs}, {healthy_critical} critical"),
    Line("real failing runs named", "{failing_named} of {failing_runs}; first in {failing_first}"),
    Line("late onsets within 10 % of the run", "{late_placed} of {late_onsets}"),
    Line("lab faults named; lab healthy runs alarmed", "{lab_named} of {lab_faults}; {lab_false} of {lab_healthy}"),
    Line("simulated healthy noise flagged", "{noise_flagged} of {noise_runs} runs"),
    Line("100,000 steps diagnosed", "{cpu_seconds_100000} s of CPU; a live tick {tick_ms_100000} ms"),
)


def main() -> None:
    """Fill both blocks of the README."""
    from bench.picture import text

    readme = README.read_text(encoding="utf-8")
    readme = filled(readme, "diagnosis", diagnosis(text()))
    lines = HISTORY.read_text(encoding="utf-8").splitlines() if HISTORY.is_file() else []
    if lines:
        readme = filled(readme, "measured", measured(json.loads(lines[-1])))
    else:
        print(f"{HISTORY}: expected a measurement, got none. Run `python -m bench.doctor --keep`.")
    README.write_text(readme, encoding="utf-8")


def diagnosis(page: str) -> str:
    """The first part of a rendered page as a block."""
    return f"```text\n{page.partition(CUT)[0].strip()}\n```"


def measured(totals: Mapping[str, object]) -> str:
    """One measurement as a table with its date, commit and machine.

    Raises:
        Unfilled: it holds none of the numbers.
    """
    rows = [f"| {line.what} | {line.told.format(**totals)} |" for line in LINES if _fields(line) <= set(totals)]
    if not rows:
        raise Unfilled(
            f"{HISTORY}: expected a measurement, got {', '.join(totals)}. Run `python -m bench.doctor --keep`."
        )
    when = f"{str(totals['time'])[:10]}, {totals['machine']}, commit {totals['commit']}"
    return "\n".join([f"| `python -m bench.doctor` | {when} |", "|---|---|", *rows])


def filled(readme: str, block: str, content: str) -> str:
    """The README with the content between the marks of a block.

    Raises:
        Unfilled: the README has no such block.
    """
    marks = re.compile(rf"(<!-- {block}: .*? -->\n).*?(<!-- end -->)", re.DOTALL)
    if marks.search(readme) is None:
        raise Unfilled(f"README.md: expected a block `<!-- {block}: ... -->` up to `<!-- end -->`. Put its marks back.")
    return marks.sub(lambda found: f"{found[1]}{content}\n{found[2]}", readme, count=1)


def _fields(line: Line) -> set[str]:
    return set(re.findall(r"\{(\w+)\}", line.told))


if __name__ == "__main__":
    main()
