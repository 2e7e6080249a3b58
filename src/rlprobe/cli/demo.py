"""rlprobe demo: train the lab's small policy with a fault, record it, diagnose it."""

import argparse
import sys
import tempfile
from pathlib import Path

from rlprobe.cli.failure import Failure

SUMMARY = "Train a small policy with a fault, for real, and diagnose the recording."
DESCRIPTION = "Needs no GPU and no torch. Exits with 0 whatever is diagnosed."
EXAMPLE = "rlprobe demo length-hack --out runs/demo"
DEFAULT = "length-hack"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("fault", metavar="FAULT", nargs="?", default=DEFAULT, help=f"see --list (default: {DEFAULT})")
    parser.add_argument("--out", metavar="RUN", help="where to record (default: a new temporary folder)")
    parser.add_argument("--steps", type=int, default=300, metavar="N", help="training steps (default: 300)")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="decides everything random (default: 0)")
    parser.add_argument("--list", action="store_true", help="list the faults and the healthy variants")


def run(args: argparse.Namespace) -> int:
    """Train, record, diagnose; or list what can be trained."""
    from rlprobe.lab import train
    from rlprobe.reports.format import plain

    known = _known()
    if args.list:
        _list(known)
        return 0
    if args.fault not in known:
        raise Failure(f"demo: expected a fault or variant, got {args.fault[:80]!r}. `rlprobe demo --list` shows them.")
    if args.steps < 1 or args.seed < 0:
        raise Failure(f"demo: expected --steps from 1 and --seed from 0, got {args.steps} and {args.seed}.")
    target = _target(args.out, args.fault)
    told = f"Training {args.fault} for {args.steps} steps, recorded in {plain(target)}"
    print(told, file=sys.stderr, flush=True)
    train(args.fault, target, steps=args.steps, seed=args.seed)
    _diagnose(target)
    return 0


def _known() -> dict[str, str]:
    """Every fault and variant of the lab, with its description."""
    from rlprobe.lab import faults, variants

    described = {fault.name: fault.description for fault in faults()}
    return described | {variant.name: variant.description for variant in variants()}


def _list(known: dict[str, str]) -> None:
    from rlprobe.cli import screen
    from rlprobe.reports import pages

    screen.write(pages.pairs(tuple(known.items()), width=screen.width(), color=screen.color()))


def _target(out: str | None, fault: str) -> Path:
    if out is None:
        return Path(tempfile.mkdtemp(prefix="rlprobe-")) / fault
    if Path(out).exists() and (not Path(out).is_dir() or any(Path(out).iterdir())):
        raise Failure(f"{out}: expected a path that is free. Name another one, or remove what is there.")
    return Path(out)


def _diagnose(target: Path) -> None:
    from rlprobe.cli import screen
    from rlprobe.doctor.engine import diagnose
    from rlprobe.opening import open_run
    from rlprobe.reports import terminal

    diagnosis = diagnose(open_run(target))
    screen.write(terminal.render(diagnosis, width=screen.width(), color=screen.color()))
