"""rlprobe run: start a training program, and record what it hands to its loggers."""

import argparse
import json
import os
import shutil
import sys

from rlprobe.cli import policy
from rlprobe.cli.failure import Failure

SUMMARY = "Start a training program and record what it hands to its loggers, unchanged."
DESCRIPTION = """What goes to wandb, TensorBoard, Trackio, MLflow, SwanLab or a HF Trainer's callbacks is recorded as
well, in child processes too: accelerate launch, torchrun, Ray. rlprobe replaces itself by the program, so that exit
code, signals and terminal are the program's own. docs/frameworks.md tells what is recorded of which trainer."""
EXAMPLE = "rlprobe run --run runs/my-run -- accelerate launch train.py --lr 1e-6"
COMPUTES = False
_SPLIT = "--"


def before_parsing(words: list[str]) -> list[str]:
    """The words after the first `--` as one list: argparse would take a later `--` among them for its own."""
    if _SPLIT not in words and (word := _first_argument(words)) is not None:
        raise Failure(f"run: expected `--` before the command: rlprobe run -- {word[:80]} ...")
    at = words.index(_SPLIT) if _SPLIT in words else len(words)
    return [*words[:at], *(["--program", json.dumps(words[at + 1 :])] if words[at + 1 :] else [])]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("--run", dest="run_dir", metavar="DIR", help="where to record (default: runs/PROGRAM-TIME)")
    told = "write findings back into wandb, tensorboard or trackio (repeatable)"
    parser.add_argument("--tell", action="append", default=[], metavar="LOGGER", help=told)
    halts = "watch beside training, and stop it where the policy says so, the usual one or DOCTOR.TOML's"
    parser.add_argument("--halt", nargs="?", const=True, default=False, metavar="DOCTOR.TOML", help=halts)
    parser.add_argument("--program", type=_words, help=argparse.SUPPRESS)  # the words after `--`, as a list in JSON


def run(args: argparse.Namespace) -> int:
    """Become the program; returns only when that cannot be."""
    from pathlib import Path

    from rlprobe.integrations import tap_places
    from rlprobe.integrations.telling import checked

    if not args.program:
        raise Failure("run: expected `--` and a command. `rlprobe run --help` shows an example.")
    try:
        tell = checked(args.tell)
    except ValueError as error:
        raise Failure(f"run: {error}") from error
    if shutil.which(args.program[0]) is None:
        raise Failure(f"run: expected a program that can be started, got {args.program[0][:80]!r}. Check its name.")
    if isinstance(args.halt, str):
        policy.check("run: --halt", args.halt)
    named = tap_places.script_of(list(args.program))
    run_dir = Path(args.run_dir) if args.run_dir else tap_places.default_run_dir(named)
    if refused := tap_places.refused(run_dir):
        raise Failure(f"run: --run {str(run_dir)[:80]!r}: {refused}. Name another directory.")
    variables = tap_places.environment_for(run_dir, list(tell), args.halt)
    sys.stdout.flush()
    sys.stderr.flush()
    os.execvpe(args.program[0], args.program, os.environ | variables)


def _first_argument(words: list[str]) -> str | None:
    """The first word that is no option of ours and no value of one."""
    values = {at + 1 for at, word in enumerate(words) if word in ("--run", "--tell")}
    values |= {at for at, word in enumerate(words) if words[at - 1 : at] == ["--halt"] and word.endswith(".toml")}
    return next((word for at, word in enumerate(words) if at not in values and not word.startswith("-")), None)


def _words(text: str) -> tuple[str, ...]:
    """The program's words, which may be empty ones: a tuple, since an empty word in a list of ours is a mistake."""
    words = json.loads(text)
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise argparse.ArgumentTypeError(f"expected a list of strings in JSON, got {text[:80]!r}")
    return tuple(words)
