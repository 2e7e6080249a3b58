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


class _Slot(argparse.Action):
    """Collects `--loss MODULE:FUNCTION` and its like in one mapping."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: object = None,
    ) -> None:
        namespace.functions = {**namespace.functions, self.dest.removeprefix("slot_"): values}


def add_verified_functions(parser: argparse.ArgumentParser) -> None:
    """One option a function of the pipeline."""
    from rlprobe.verifier.pipeline import FUNCTIONS

    parser.set_defaults(functions={})
    for slot in FUNCTIONS:
        option, where = f"--{slot.replace('_', '-')}", "MODULE:FUNCTION"
        told = f"the function in the place of `{slot}`"
        parser.add_argument(
            option, dest=f"slot_{slot}", action=_Slot, default=argparse.SUPPRESS, metavar=where, help=told
        )


def add_declarations(parser: argparse.ArgumentParser) -> None:
    """--declare, for what the user's code is meant to do."""
    parser.add_argument(
        "--declare",
        action="append",
        default=[],
        type=_setting,
        metavar="NAME=VALUE",
        help="what the code is meant to do: algorithm=grpo, clip_high=0.28 ... (repeatable)",
    )


def _setting(text: str) -> tuple[str, object]:
    """NAME=VALUE with the value as a number, true or false where it is one."""
    name, separator, value = text.partition("=")
    if not (name and separator):
        raise argparse.ArgumentTypeError(f"expected NAME=VALUE, got {text[:80]!r}")
    words: dict[str, object] = {"true": True, "false": False, "none": None}
    if value.lower() in words:
        return name, words[value.lower()]
    for kind in (int, float):
        try:
            return name, kind(value)
        except ValueError:
            continue
    return name, value


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
