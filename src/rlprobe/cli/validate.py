"""rlprobe validate: does a directory keep to the recording format."""

import argparse

from rlprobe.cli.arguments import add_json
from rlprobe.cli.failure import Failure

SUMMARY = "Check a directory against the recording format; make a whole copy of a damaged one."
DESCRIPTION = """A torn last frame or line is what a killed process leaves: it is told, and a repaired copy is
without it. Exit code: 0 nothing breaks the format, or a whole copy was made; 1 something breaks it; 2 no recording."""
EXAMPLE = "rlprobe validate runs/my-run --repair runs/my-run-whole"
BROKEN = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("recording", metavar="RUN", help="the recording's directory")
    parser.add_argument("--repair", metavar="TARGET", help="make a copy of all that can be read; RUN stays as it is")
    add_json(parser, "what breaks the format")


def run(args: argparse.Namespace) -> int:
    """Print what breaks the format; returns the exit code."""
    from rlprobe.cli import screen
    from rlprobe.recording.convert import repair
    from rlprobe.recording.reader import UnreadableRecording
    from rlprobe.recording.validate import validate
    from rlprobe.reports import json, validity

    try:
        problems = validate(args.recording)
        if args.repair is not None:
            repair(args.recording, args.repair)
    except UnreadableRecording as error:
        raise Failure(str(error)) from error
    if args.json:
        screen.write(json.document(validity.document(args.recording, problems)))
    else:
        screen.write(validity.render(args.recording, problems, repaired=args.repair))
    return BROKEN if problems and args.repair is None else 0
