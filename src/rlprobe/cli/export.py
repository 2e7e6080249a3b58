"""rlprobe export: a copy of a recording that is safe to send."""

import argparse

from rlprobe.cli.failure import Failure

SUMMARY = "Make a copy of a recording without its texts, safe to send."
DESCRIPTION = """Prompts, completions and the texts that reward functions received are left out; numbers,
settings and events stay. TARGET must not exist yet."""
EXAMPLE = "rlprobe export runs/my-run my-run-to-send --no-text"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("recording", metavar="RUN", help="the recording's directory")
    parser.add_argument("target", metavar="TARGET", help="the copy's directory, which must not exist yet")
    parser.add_argument(
        "--no-text", action="store_true", required=True, help="leave the texts out; said each time, so that it is known"
    )


def run(args: argparse.Namespace) -> int:
    """Write the copy and say where it is."""
    from rlprobe.cli import screen
    from rlprobe.recording.convert import export
    from rlprobe.recording.reader import UnreadableRecording
    from rlprobe.reports.format import plain

    try:
        export(args.recording, args.target)
    except UnreadableRecording as error:
        raise Failure(str(error)) from error
    screen.write(f"{plain(args.target)}: a copy of {plain(args.recording)} without its texts\n")
    return 0
