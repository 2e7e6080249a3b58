"""rlprobe show: everything known about one step, or a window of steps."""

import argparse
from typing import TYPE_CHECKING

from rlprobe.cli.arguments import add_json, add_source, open_source
from rlprobe.cli.failure import Failure

if TYPE_CHECKING:
    from rlprobe.doctor.finding import Finding
    from rlprobe.recording.run import Run

SUMMARY = "Show everything known about one step, or the course of a window of steps."
DESCRIPTION = """A step: every metric beside the rows before, the findings that are active, events, samples. A window:
courses, means beside the window before, findings, events, samples from the lowest reward to the highest."""
EXAMPLE = "rlprobe show runs/my-run --step 212\n  rlprobe show runs/my-run --steps 200:240"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    add_source(parser)
    parser.add_argument(
        "--step",
        "--steps",
        required=True,
        type=_steps,
        metavar="N or A:B",
        help="the step, or the first and last of a window",
    )
    parser.add_argument("--verbose", action="store_true", help="more samples, whole texts, notes on metrics")
    add_json(parser, "the facts")


def run(args: argparse.Namespace) -> int:
    """Print the step or the window."""
    from rlprobe.cli import screen
    from rlprobe.forensics.window import window_samples
    from rlprobe.reports import json, step, step_page

    opened = open_source(args)
    first, last = args.step
    try:
        facts = step.at(opened, first) if last is None else step.between(opened, first, last)
    except step.NoSuchStep as error:
        raise Failure(str(error)) from error
    findings = _findings(opened, first, first if last is None else last)
    look = {"width": screen.width(), "color": screen.color(), "verbose": args.verbose}
    if isinstance(facts, step.Step):
        document = step.document(facts, findings)
        page = "" if args.json else step_page.render_step(facts, findings, **look)
    else:
        samples, count = window_samples(opened, first, facts.last, few=not args.verbose)
        document = step.window_document(facts, findings, samples)
        page = "" if args.json else step_page.render_window(facts, findings, samples, count=count, **look)
    screen.write(json.document(document) if args.json else page)
    return 0


def _findings(opened: "Run", first: int, last: int) -> "list[Finding]":
    from rlprobe.doctor.engine import diagnose
    from rlprobe.reports import step

    return step.active(diagnose(opened), first, last)


def _steps(text: str) -> tuple[int, int | None]:
    first, colon, last = text.partition(":")
    try:
        span = int(first), int(last) if colon else None
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected N or A:B, got {text[:80]!r}") from None
    if span[1] is not None and span[1] < span[0]:
        raise argparse.ArgumentTypeError(f"expected A:B with A up to B, got {text[:80]!r}")
    return span
