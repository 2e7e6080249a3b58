"""Arguments that several commands share, and the parser that they are added to."""

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

from rlprobe.cli.failure import Failure

if TYPE_CHECKING:
    from types import ModuleType

    from rlprobe.recording.run import Run


class Parser(argparse.ArgumentParser):
    """argparse whose complaints are one line, and which takes no empty word for a name, a path or a text."""

    def read(self, words: Sequence[str]) -> argparse.Namespace:
        """The arguments. An empty word is what a shell makes of a variable that is not set; as a path it would be the
        current folder, which nobody named.

        Raises:
            Failure: the command line is no good.
        """
        parsed = self.parse_args(words)
        for action in self._actions:
            given = getattr(parsed, action.dest, None)
            if given == "" or (isinstance(given, list) and "" in given):
                named = "/".join(action.option_strings) or action.metavar or action.dest
                self.error(f"argument {named}: expected a value, got an empty word (a variable that is not set?)")
        return parsed

    def error(self, message: str) -> NoReturn:
        """Say what is wrong with the command line, and where the help is."""
        raise Failure(f"{self.prog.removeprefix('rlprobe ')}: {message}. `{self.prog} --help` shows an example.")


def parser_of(command: str, module: "ModuleType") -> Parser:
    """The parser of a command's module: SUMMARY, DESCRIPTION, EXAMPLE, add_arguments() and run()."""
    parser = Parser(
        prog=f"rlprobe {command}",
        description=f"{module.SUMMARY}\n\n{module.DESCRIPTION}",
        epilog=f"example:\n  {module.EXAMPLE}",
        formatter_class=lambda prog: argparse.RawDescriptionHelpFormatter(prog, width=100, max_help_position=28),
        allow_abbrev=False,
    )
    module.add_arguments(parser)
    parser.set_defaults(run=module.run)
    return parser


def add_source(parser: argparse.ArgumentParser) -> None:
    """SOURCE, and the two options that say how to read a foreign log."""
    parser.add_argument("source", metavar="SOURCE", help="a recording's directory, or a log that an importer knows")
    add_reading(parser)


def add_reading(parser: argparse.ArgumentParser) -> None:
    """The options that say how to read a foreign log."""
    parser.add_argument("--run", dest="which", type=_positive, metavar="N", help="which run, where a log holds several")
    parser.add_argument(
        "--map",
        dest="keys",
        action="append",
        default=[],
        type=_pair,
        metavar="THEIRS=OURS",
        help="read the log's key THEIRS as the metric OURS (repeatable)",
    )


def add_json(parser: argparse.ArgumentParser, what: str) -> None:
    """--json, for programs."""
    parser.add_argument("--json", action="store_true", help=f"print {what} as JSON")


def open_source(args: argparse.Namespace) -> "Run":
    """The run that SOURCE, --run and --map name.

    Raises:
        Failure: it cannot be read.
    """
    from rlprobe.opening import UnreadableSource, open_run
    from rlprobe.recording.reader import UnreadableRecording

    try:
        return open_run(args.source, keys=dict(args.keys), run=args.which)
    except (UnreadableSource, UnreadableRecording) as error:
        raise Failure(str(error)) from error


def _positive(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a number from 1 on, got {text[:80]!r}")
    return int(text)


def _pair(text: str) -> tuple[str, str]:
    theirs, _, ours = text.rpartition("=")
    if not (theirs and ours):
        raise argparse.ArgumentTypeError(f"expected THEIRS=OURS, got {text[:80]!r}")
    return theirs, ours
