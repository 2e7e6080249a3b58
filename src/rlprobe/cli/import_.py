"""rlprobe import: a recording of a foreign log."""

import argparse

from rlprobe.cli.arguments import add_source, open_source
from rlprobe.cli.failure import Failure

SUMMARY = "Make a recording of a foreign log."
DESCRIPTION = "The log is read, never changed. RUN must not exist yet."
EXAMPLE = "rlprobe import trainer_log.jsonl runs/imported --map my/reward=reward_mean"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    add_source(parser)
    parser.add_argument("target", metavar="RUN", help="the recording's directory, which must not exist yet")


def run(args: argparse.Namespace) -> int:
    """Write the recording and say what it holds."""
    from rlprobe.cli import screen
    from rlprobe.recording.convert import write_recording
    from rlprobe.recording.reader import UnreadableRecording
    from rlprobe.reports import format as say

    opened = open_source(args)
    try:
        write_recording(opened, args.target)
    except UnreadableRecording as error:
        raise Failure(str(error)) from error
    known = f"{say.counted(opened.rows, 'row')}, {say.counted(len(opened.metrics), 'metric')}"
    screen.write(f"{say.plain(args.target)}: {known} from {say.plain(opened.source)}\n")
    for note in opened.reading.notes:
        screen.write(f"  {say.plain(note)}\n")
    return 0
