"""rlprobe show: everything known about one step, or a window of steps."""

import argparse
from typing import TYPE_CHECKING

from rlprobe.cli.arguments import add_json, add_source, open_source
from rlprobe.cli.failure import Failure

if TYPE_CHECKING:
    from rlprobe.recording.run import Run

SUMMARY = "Show everything known about one step, or the course of a window of steps."
DESCRIPTION = (
    "A step: every metric with the value before, events, samples. A window: first and last values, courses, events."
)
EXAMPLE = "rlprobe show runs/my-run --step 212\n  rlprobe show runs/my-run --step 200:240"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    add_source(parser)
    parser.add_argument(
        "--step", required=True, type=_steps, metavar="N or A:B", help="the step, or the first and last of a window"
    )
    parser.add_argument("--verbose", action="store_true", help="all samples, whole texts, notes on metrics")
    add_json(parser, "the facts")


def run(args: argparse.Namespace) -> int:
    """Print the step or the window."""
    from rlprobe.reports.step import NoSuchStep

    opened = open_source(args)
    first, last = args.step
    try:
        if last is None:
            _show_step(opened, first, args)
        else:
            _show_window(opened, first, last, args)
    except NoSuchStep as error:
        raise Failure(str(error)) from error
    return 0


def _show_step(opened: "Run", number: int, args: argparse.Namespace) -> None:
    from rlprobe.cli import screen
    from rlprobe.reports import json, step

    facts = step.at(opened, number)
    if args.json:
        screen.write(json.document(step.document(facts)))
        return
    from rlprobe.reports.step_page import render_step

    screen.write(render_step(facts, width=screen.width(), color=screen.color(), verbose=args.verbose))


def _show_window(opened: "Run", first: int, last: int, args: argparse.Namespace) -> None:
    from rlprobe.cli import screen
    from rlprobe.reports import json, step

    facts = step.between(opened, first, last)
    if args.json:
        screen.write(json.document(step.window_document(facts)))
        return
    from rlprobe.reports.step_page import render_window

    screen.write(render_window(facts, width=screen.width(), color=screen.color()))


def _steps(text: str) -> tuple[int, int | None]:
    first, colon, last = text.partition(":")
    try:
        span = int(first), int(last) if colon else None
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected N or A:B, got {text[:80]!r}") from None
    if span[1] is not None and span[1] < span[0]:
        raise argparse.ArgumentTypeError(f"expected A:B with A up to B, got {text[:80]!r}")
    return span
