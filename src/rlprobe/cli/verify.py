"""rlprobe verify: hold a training pipeline's own functions to the invariants that they must keep."""

import argparse
from typing import TYPE_CHECKING

from rlprobe.cli.arguments import add_json
from rlprobe.cli.verification_arguments import add_declarations, add_verified_functions

if TYPE_CHECKING:
    from rlprobe.verifier.report import Report

SUMMARY = "Run your reward, advantage, log-prob, loss and decode code against the invariants that must hold."
DESCRIPTION = """TARGET names a Pipeline, a TRL trainer, or a function that makes one: path.py::make or
package.module:make. The code is imported and executed. Every stage is walked; nothing of yours is changed.
`rlprobe explain V301` has the page of a check. Exit code: 0 nothing at or above --fail-on, 1 at least one, 2 wrong
usage or code that cannot be loaded, 3 nothing could be checked, 4 internal error."""
EXAMPLE = """rlprobe verify my_pipeline.py::make
  rlprobe verify --loss my_code.losses:grpo_loss --advantages my_code.losses:advantages --declare algorithm=grpo"""
FOUND, NOTHING_CHECKED = 1, 3
FAILING = {"fail": ("fail",), "warn": ("fail", "warn"), "never": ()}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("target", metavar="TARGET", nargs="?", help="path.py::make or package.module:make")
    add_verified_functions(parser)
    add_declarations(parser)
    parser.add_argument("--only", metavar="IDS", help="checks to run: ids, beginnings of ids or stages, by comma")
    parser.add_argument("--seed", type=int, default=0, help="base of the random inputs (default: 0)")
    parser.add_argument("--budget", type=float, default=60.0, metavar="SECONDS", help="time for all (default: 60)")
    form = parser.add_mutually_exclusive_group()
    add_json(form, "the report")  # type: ignore[arg-type]  # a group has add_argument too
    form.add_argument("--markdown", action="store_true", help="print the report as Markdown")
    parser.add_argument("--sarif", metavar="FILE", help="also write the findings as SARIF 2.1.0")
    parser.add_argument("--junit", metavar="FILE", help="also write every check as JUnit XML")
    parser.add_argument("--fail-on", choices=tuple(FAILING), default="fail", help="exit with 1 on this (default: fail)")
    parser.add_argument("--diff", metavar="OLD.json", help="tell what is fixed, new and still there since that report")
    parser.add_argument("--snapshot", metavar="FILE", help="keep what every reward, advantage and decode branch gives")
    parser.add_argument("--against", metavar="FILE", help="tell which branches give something else than in FILE")
    parser.add_argument("--selftest", action="store_true", help="run the verifier on correct pipelines and known bugs")
    parser.add_argument("--list", action="store_true", help="list every check")
    parser.add_argument("--verbose", action="store_true", help="list every check and how the functions were called")


def run(args: argparse.Namespace) -> int:
    """Print the report; returns the exit code."""
    from rlprobe.cli import verification, verification_modes, verification_report

    if args.list:
        return verification_modes.listed(args)
    if args.selftest:
        return verification_modes.selftest()
    pipeline = verification.loaded(args)
    if args.snapshot is not None:
        return verification_modes.keep(pipeline, args.snapshot)
    if args.against is not None:
        return verification_modes.moved(pipeline, args.against)
    report = verification.verified(pipeline, args)
    verification_report.tell(report, args)
    return exit_code(report, args.fail_on)


def exit_code(report: "Report", fail_on: str) -> int:
    """The exit code of a report."""
    worst = report.worst()
    if worst in FAILING[fail_on]:
        return FOUND
    return NOTHING_CHECKED if worst == "not_checkable" else 0
