"""rlprobe ls: the runs under a folder."""

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from rlprobe.cli.arguments import add_json
from rlprobe.cli.failure import Failure

if TYPE_CHECKING:
    from rlprobe.reports.listing import Listed

SUMMARY = "List the runs under a folder, with steps, state and worst finding."
DESCRIPTION = "Recordings, and logs that an importer knows. Other files are passed over; links are not followed."
EXAMPLE = "rlprobe ls runs"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("root", metavar="ROOT", nargs="?", default=".", help="the folder (default: the current one)")
    add_json(parser, "the list")


def run(args: argparse.Namespace) -> int:
    """Print one line a run."""
    from rlprobe.cli import screen
    from rlprobe.importers.folders.runs import runs_under
    from rlprobe.reports import json, listing

    if not os.path.isdir(args.root):
        raise Failure(f"{args.root}: expected a folder. Name the folder that holds the runs.")
    runs = [entry for path in runs_under(args.root) if (entry := _listed(path)) is not None]
    if args.json:
        screen.write(json.document(listing.document(runs)))
    elif runs:
        screen.write(listing.render(runs, width=screen.width(), color=screen.color()))
    else:
        screen.write("No run found here.\n")
    return 0


def _listed(path: Path) -> "Listed | None":
    """The entry of a run; None for a file that holds none."""
    from rlprobe.doctor.engine import diagnose
    from rlprobe.opening import UnreadableSource, open_run
    from rlprobe.recording.reader import UnreadableRecording
    from rlprobe.reports.listing import Listed

    try:
        return Listed(source=str(path), diagnosis=diagnose(open_run(path)))
    except (UnreadableSource, UnreadableRecording, OSError) as error:
        return Listed(source=str(path), diagnosis=None, problem=str(error)) if path.is_dir() else None
