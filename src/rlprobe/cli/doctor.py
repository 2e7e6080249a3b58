"""rlprobe doctor: what is wrong with a run."""

import argparse
from typing import TYPE_CHECKING

from rlprobe.cli.arguments import add_json, add_reading, open_source
from rlprobe.cli.failure import Failure

if TYPE_CHECKING:
    from rlprobe.doctor.finding import Diagnosis

SUMMARY = "Say what is wrong with a run: root causes first, with evidence and what to try."
DESCRIPTION = """Reads a recording or any log that an importer knows. `rlprobe explain ID` has the page of each finding.
Exit code: 0 no active finding at or above --fail-on, 1 at least one, 2 wrong usage or unreadable input, 3 nothing could
be checked, 4 internal error."""
EXAMPLE = "rlprobe doctor runs/my-run --fail-on warning"
FOUND, NOTHING_CHECKED = 1, 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("source", metavar="SOURCE", nargs="?", help="a recording's directory, or a known log")
    add_reading(parser)
    form = parser.add_mutually_exclusive_group()
    add_json(form, "the diagnosis")  # type: ignore[arg-type]  # a group has add_argument too
    form.add_argument("--markdown", action="store_true", help="print the diagnosis as Markdown")
    parser.add_argument(
        "--fail-on",
        choices=("critical", "warning", "never"),
        default="critical",
        help="exit with 1 on an active finding of this severity or a higher one (default: critical)",
    )
    parser.add_argument("--until", type=int, metavar="STEP", help="judge as if the run had ended with this step")
    parser.add_argument("--config", metavar="FILE", help="doctor.toml: what to check, and with which thresholds")
    parser.add_argument("--show-config", action="store_true", help="print the configuration in force as TOML and exit")
    parser.add_argument("--verbose", action="store_true", help="list everything that was checked and not checked")


def run(args: argparse.Namespace) -> int:
    """Print the diagnosis, or the configuration; returns the exit code."""
    from rlprobe.doctor import configuration
    from rlprobe.doctor.engine import diagnose

    try:
        chosen = configuration.DEFAULT if args.config is None else configuration.load(args.config)
    except configuration.ConfigurationError as error:
        raise Failure(str(error)) from error
    if args.show_config:
        print(configuration.show(chosen), end="")
        return 0
    if args.source is None:
        raise Failure("doctor: expected SOURCE. `rlprobe doctor --help` shows an example.")
    diagnosis = diagnose(open_source(args), configuration=chosen, until=args.until)
    _print(diagnosis, args)
    return exit_code(diagnosis, args.fail_on)


def exit_code(diagnosis: "Diagnosis", fail_on: str) -> int:
    """The exit code of a diagnosis."""
    failing = {"critical": ("critical",), "warning": ("critical", "warning"), "never": ()}[fail_on]
    if diagnosis.worst() in failing:
        return FOUND
    return NOTHING_CHECKED if diagnosis.verdict == "unknown" else 0


def _print(diagnosis: "Diagnosis", args: argparse.Namespace) -> None:
    from rlprobe.cli import screen

    if args.json:
        from rlprobe.reports import json

        screen.write(json.render(diagnosis))
    elif args.markdown:
        from rlprobe.reports import markdown

        screen.write(markdown.render(diagnosis))
    else:
        from rlprobe.reports import terminal

        screen.write(terminal.render(diagnosis, width=screen.width(), color=screen.color(), verbose=args.verbose))
