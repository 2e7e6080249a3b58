"""The command line: one file a command, loaded when it is called. Nothing here imports numpy, pyarrow or rich."""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from types import ModuleType

from rlprobe.cli.failure import Failure

COMMANDS = {  # in the order of --help
    "doctor": "rlprobe.cli.doctor",
    "verify": "rlprobe.cli.verify",
    "watch": "rlprobe.cli.watch",
    "explain": "rlprobe.cli.explain",
    "report": "rlprobe.cli.report",
    "ls": "rlprobe.cli.ls",
    "samples": "rlprobe.cli.samples",
    "show": "rlprobe.cli.show",
    "diff": "rlprobe.cli.diff",
    "import": "rlprobe.cli.import_",
    "validate": "rlprobe.cli.validate",
    "export": "rlprobe.cli.export",
    "demo": "rlprobe.cli.demo",
    "run": "rlprobe.cli.run",
    "skill": "rlprobe.cli.skill",
    "mcp": "rlprobe.cli.mcp",
}
WRONG_USAGE = 2  # also: input that cannot be read
INTERNAL_ERROR = 4
INTERRUPTED = 130  # 128 + SIGINT, as shells say it
PIPE_CLOSED = 141  # 128 + SIGPIPE: the reader of our output has gone
LONGEST = 2_000  # characters of a complaint: a path may have thousands, and what is wrong stands at either end
DEBUG = "RLPROBE_DEBUG"  # environment variable; "1" shows the traceback of an internal error
THREADS = (  # read once, when numpy is loaded; our matrices are small, and a second thread only spins beside the first
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code; never raises and never prints a traceback unless asked to."""
    words = list(sys.argv[1:] if argv is None else argv)
    _open_streams()
    try:
        code = _dispatch(words)
        sys.stdout.flush()
        return code
    except SystemExit as end:  # argparse ends a --help or a wrong usage so
        return end.code if isinstance(end.code, int) else WRONG_USAGE
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        _silence_stdout()
        return PIPE_CLOSED
    except Failure as failure:
        return _tell(str(failure), WRONG_USAGE)
    except OSError as error:
        return _tell(f"{error.filename or words[0]}: {error.strerror or error}.", WRONG_USAGE)
    except Exception as error:
        return _internal(error, words)


def _open_streams() -> None:
    """Give a process that was started without stdout or stderr (`>&-`) one that leads nowhere; it lives as long."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - the process's own stream
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - the process's own stream


def load(command: str) -> ModuleType:
    """The module of a command."""
    return import_module(COMMANDS[command])


def _dispatch(words: list[str]) -> int:
    first = words[0] if words else "--help"
    if first in ("-h", "--help", "help"):
        print(_overview(), end="")
        return 0
    if first == "--version":
        from rlprobe import __version__

        print(f"rlprobe {__version__}")
        return 0
    if first not in COMMANDS:
        raise _unknown(first)
    from rlprobe.cli.arguments import parser_of

    module = load(first)
    if getattr(module, "COMPUTES", True):  # `run` hands its environment on to a training program
        for name in THREADS:  # what the user has set stays
            os.environ.setdefault(name, "1")
    given = getattr(module, "before_parsing", list)(words[1:])
    args = parser_of(first, module).read(given)
    return int(args.run(args))


def _overview() -> str:
    listed = "".join(f"  {name:<10}{load(name).SUMMARY}\n" for name in COMMANDS)
    return (
        "Flight recorder, doctor and verifier for reinforcement-learning fine-tuning of language models.\n\n"
        f"usage: rlprobe COMMAND ...\n\n{listed}\n"
        "  rlprobe COMMAND --help says more, with an example. rlprobe --version tells the version.\n"
    )


def _unknown(word: str) -> Failure:
    from difflib import get_close_matches

    from rlprobe.reports.format import cut

    close = get_close_matches(cut(word, 80), COMMANDS, n=1)
    hint = f"The closest is `rlprobe {close[0]}`." if close else "`rlprobe --help` lists them."
    return Failure(f"expected a command, got {cut(word, 80)!r}. {hint}")


def _tell(message: str, code: int) -> int:
    from rlprobe.reports.format import plain

    told = plain(message)
    if len(told) > LONGEST:
        told = f"{told[: LONGEST // 2]} ... {told[-LONGEST // 2 :]}"
    with suppress(OSError):
        print(f"rlprobe: {told}", file=sys.stderr)
    return code


def _internal(error: Exception, words: list[str]) -> int:
    if os.environ.get(DEBUG) == "1":
        import traceback

        traceback.print_exc()
    named = f"{type(error).__name__}: {error}"[:300]
    told = f"internal error in `{' '.join(words[:1])}`: {named}. Report it with the traceback that {DEBUG}=1 shows."
    return _tell(told, INTERNAL_ERROR)


def _silence_stdout() -> None:
    """Let the interpreter's last flush go nowhere, so that it has nothing to complain of."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
