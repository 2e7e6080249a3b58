"""The first half of `rlprobe verify`: load the user's code, run it, read the files of earlier runs."""

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


def earlier(path: str) -> str:
    """The text of a file that an earlier run wrote."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise Failure(f"verify: {path}: expected text in UTF-8. Name a file that rlprobe verify wrote.") from error
