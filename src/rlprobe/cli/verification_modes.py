"""What `rlprobe verify` does beside verifying: list its checks, try itself, keep and compare what branches give."""

import argparse
import sys
from contextlib import redirect_stdout
from pathlib import Path

from rlprobe.cli.failure import Failure
from rlprobe.cli.verification import earlier


def listed(args: argparse.Namespace) -> int:
    """Print every check."""
    from rlprobe.cli import screen
    from rlprobe.reports import json, verification
    from rlprobe.verifier import catalog

    checks = tuple(entry.check for entry in catalog.chosen(args.only))
    if args.json:
        screen.write(json.document(verification.checks_document(checks)))
    else:
        screen.write(verification.listing(checks, width=screen.width(), color=screen.color()))
    return 0


def selftest() -> int:
    """Run the verifier on its own correct pipelines and mutants; 1 where it is wrong about one."""
    from rlprobe.cli import screen
    from rlprobe.reports import selftest as page
    from rlprobe.verifier.selftest import measure

    correct = tuple(measure.correct_score(name) for name in measure.bases())
    mutants = tuple(measure.mutant_score(mutant) for mutant in measure.all_mutants())
    screen.write(page.render(correct, mutants, width=screen.width(), color=screen.color()))
    return int(any(score.failing for score in correct) or not all(score.killed for score in mutants))


def keep(pipeline: object, path: str) -> int:
    """Write what every branch gives."""
    from rlprobe.cli import screen
    from rlprobe.reports.format import argument, plain
    from rlprobe.verifier import snapshot
    from rlprobe.verifier.engine import as_pipeline

    with redirect_stdout(sys.stderr):
        taken = snapshot.take(as_pipeline(pipeline))
    Path(path).write_text(snapshot.text(taken), encoding="utf-8")
    told = f"{len(taken)} answers kept in {path}. After a change: rlprobe verify ... --against {argument(path)}"
    screen.write(f"{plain(told)}\n")
    return 0


def moved(pipeline: object, path: str) -> int:
    """Print which branches give something else than they did; 1 where any does."""
    from rlprobe.cli import screen
    from rlprobe.reports import moved as page
    from rlprobe.verifier import snapshot
    from rlprobe.verifier.engine import as_pipeline

    try:
        before = snapshot.parse(earlier(path), path)
    except snapshot.UnreadableSnapshot as error:
        raise Failure(f"verify: {error}") from error
    with redirect_stdout(sys.stderr):
        differences = snapshot.differences(before, snapshot.take(as_pipeline(pipeline)))
    screen.write(page.render(differences, width=screen.width(), color=screen.color()))
    return int(bool(differences))
