"""The parts of `rlprobe verify`: load the user's code, run it, write what was found."""

import argparse
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

from rlprobe.cli.failure import Failure

if TYPE_CHECKING:
    from rlprobe.verifier.report import Report


def loaded(args: argparse.Namespace) -> object:
    """The Pipeline or trainer that the command line names; what the user's code prints goes to stderr.

    Raises:
        Failure: nothing is named, or it cannot be loaded.
    """
    from rlprobe.verifier import loading

    functions = {slot: name for slot, name in args.functions.items() if name is not None}
    if (args.target is None) == (not functions):
        how = "`rlprobe verify --help` shows both."
        raise Failure(f"verify: expected TARGET, or functions such as --loss MODULE:FUNCTION. {how}")
    try:
        with redirect_stdout(sys.stderr):
            if args.target is None:
                return loading.pipeline(functions, dict(args.declare))
            return loading.target(args.target)
    except loading.Unloadable as error:
        raise Failure(f"verify: {error}") from error


def verified(pipeline: object, args: argparse.Namespace) -> "Report":
    """The report of a Pipeline or trainer."""
    from rlprobe.verifier.catalog import UnknownCheck
    from rlprobe.verifier.engine import verify

    try:
        with redirect_stdout(sys.stderr):
            return verify(pipeline, only=args.only, seed=args.seed, budget_seconds=args.budget)
    except (TypeError, UnknownCheck) as error:
        raise Failure(f"verify: {str(error).removeprefix('verify: ')}") from error


def tell(report: "Report", args: argparse.Namespace) -> None:
    """Print the report in the form asked for, and write the files asked for."""
    from rlprobe.cli import screen
    from rlprobe.verifier import compare

    change = None
    if args.diff is not None:
        try:
            change = compare.compare(compare.statuses(_read(args.diff), args.diff), report)
        except compare.UnreadableReport as error:
            raise Failure(f"verify: {error}") from error
    _files(report, args)
    if args.json:
        screen.write(report.to_json(change))
    elif args.markdown:
        from rlprobe.reports import verification_markdown

        screen.write(verification_markdown.render(report))
    else:
        from rlprobe.reports import verification

        page = verification.render(
            report, width=screen.width(), color=screen.color(), verbose=args.verbose, change=change
        )
        screen.write(page)


def listed(args: argparse.Namespace) -> int:
    """Print every check."""
    from rlprobe.cli import screen
    from rlprobe.reports import json, verification
    from rlprobe.verifier import catalog

    checks = tuple(entry.check for entry in catalog.chosen(args.only))
    if args.json:
        rows = [{"id": c.id, "stage": c.stage, "title": c.title, "needs": c.needs, "causes": c.causes} for c in checks]
        screen.write(json.document({"schema": "rlprobe.checks/1", "checks": rows}))
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
    from rlprobe.verifier import snapshot
    from rlprobe.verifier.engine import as_pipeline

    with redirect_stdout(sys.stderr):
        taken = snapshot.take(as_pipeline(pipeline))
    Path(path).write_text(snapshot.text(taken), encoding="utf-8")
    print(f"{len(taken)} answers kept in {path}. After a change: rlprobe verify ... --against {path}")
    return 0


def moved(pipeline: object, path: str) -> int:
    """Print which branches give something else than they did; 1 where any does."""
    from rlprobe.cli import screen
    from rlprobe.reports import moved as page
    from rlprobe.verifier import snapshot
    from rlprobe.verifier.engine import as_pipeline

    try:
        before = snapshot.parse(_read(path), path)
    except snapshot.UnreadableSnapshot as error:
        raise Failure(f"verify: {error}") from error
    with redirect_stdout(sys.stderr):
        differences = snapshot.differences(before, snapshot.take(as_pipeline(pipeline)))
    screen.write(page.render(differences, width=screen.width(), color=screen.color()))
    return int(bool(differences))


def _files(report: "Report", args: argparse.Namespace) -> None:
    if args.sarif is not None:
        from rlprobe import __version__
        from rlprobe.reports import sarif

        Path(args.sarif).write_text(sarif.render(report, version=__version__, root=str(Path.cwd())), encoding="utf-8")
    if args.junit is not None:
        from rlprobe.reports import junit

        Path(args.junit).write_text(junit.render(report), encoding="utf-8")


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise Failure(f"verify: {path}: expected text in UTF-8. Name a file that rlprobe verify wrote.") from error
