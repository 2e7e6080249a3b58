"""python -m bench.catalog.checks [ID ...]: for every check a one-line bug that breaks it, and how often it speaks.

Every correct pipeline and every seeded bug goes through the verifier once, or only through the checks that are named (a
new one, say); the table is kept beside the checks, and their pages show it.
"""

import json
import sys
import warnings
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from textwrap import shorten

from rlprobe.verifier import page as pages
from rlprobe.verifier.catalog import entries
from rlprobe.verifier.engine import verify
from rlprobe.verifier.outcome import Check
from rlprobe.verifier.report import Report, Result
from rlprobe.verifier.selftest.measure import all_mutants, bases
from rlprobe.verifier.selftest.mutant import Mutant, load, source_of

KEPT = Path(pages.__file__).with_name("mistakes.json")
RAISED = " on valid input"  # how the engine ends the statement about a function that raises
LONGEST = 200  # characters of a statement that a page shows


def main() -> None:
    """Measure, keep the table, and say which checks have no seeded bug."""
    warnings.filterwarnings("ignore")
    wanted = set(sys.argv[1:]) or {entry.check.id for entry in entries()}
    only = ",".join(sorted(wanted)) if sys.argv[1:] else None
    blamed, silent = defaultdict(int), defaultdict(int)
    for name in bases():
        _count(verify(load(source_of(name), name), only=only), blamed, silent)
    found: dict[str, list[tuple[Mutant, Result, int]]] = defaultdict(list)
    mutants = all_mutants()
    for mutant in mutants:
        spoken = _speaking(verify(load(mutant.text(), mutant.id), only=only))
        for result in spoken:
            found[result.id].append((mutant, result, len(spoken)))
    kept = json.loads(KEPT.read_text(encoding="utf-8"))["checks"] if KEPT.is_file() else {}
    table = {
        entry.check.id: kept.get(entry.check.id, {"found": 0, "answered": 0, "blamed": 0})
        if entry.check.id not in wanted
        else {
            "found": len(found[entry.check.id]),
            "answered": silent[entry.check.id] + blamed[entry.check.id],
            "blamed": blamed[entry.check.id],
        }
        | _shown(entry.check, found[entry.check.id])
        for entry in entries()
    }
    document = {"pipelines": len(bases()), "mutants": len(mutants), "checks": table}
    KEPT.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    without = [id for id, row in table.items() if not row["found"]]
    print(f"{len(table) - len(without)} of {len(table)} checks with a seeded bug; without: {', '.join(without)}")


def _count(report: Report, blamed: dict[str, int], silent: dict[str, int]) -> None:
    for result in report.results:
        if result.status in ("fail", "warn"):
            blamed[result.id] += 1
        elif result.status == "pass":
            silent[result.id] += 1


def _speaking(report: Report) -> list[Result]:
    """What a check says by itself; a function that raises is told at the first check that calls it."""
    told = [result for result in report.results if result.status in ("fail", "warn")]
    return [result for result in told if not result.outcome.statement.endswith(RAISED)]


def _shown(check: Check, found: Iterable[tuple[Mutant, Result, int]]) -> dict[str, object]:
    """The plainest bug: failing rather than doubtful, of the check's own stage and pitfall, breaking little else."""
    ranked = sorted(
        found,
        key=lambda one: (
            one[1].status != "fail",
            one[0].stage != check.stage,
            one[0].category != check.category,
            not one[1].outcome.fingerprint,
            one[2],
            len(one[0].old) + len(one[0].new),
            one[0].id,
        ),
    )
    if not ranked:
        return {}
    mutant, result, _ = ranked[0]
    return {
        "mutant": mutant.id,
        "base": mutant.base,
        "said": shorten(result.outcome.statement, LONGEST, placeholder=" …"),
        "fingerprint": result.outcome.fingerprint,
    }


if __name__ == "__main__":
    main()
