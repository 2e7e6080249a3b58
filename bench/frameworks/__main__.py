"""What of each framework is recorded, held to its own code as far as it installs: `python -m bench.frameworks`.

Installs into .venv/frameworks. Frameworks that are not on the package index are taken from a checkout where one is
named: `python -m bench.frameworks --source slime=/path/to/slime`. `--only verl OpenRLHF` runs some.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.frameworks.targets import TARGETS, Target, installed
from rlprobe import open_run
from rlprobe.recording.metrics import find

SECONDS = 900  # a program that takes longer is ended


def main() -> None:
    """Run every program and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME")
    parser.add_argument("--source", action="append", default=[], metavar="NAME=FOLDER", help="a checkout (repeatable)")
    arguments = parser.parse_args()
    sources = dict(pair.split("=", 1) for pair in arguments.source)
    print("| framework | held to | steps | canonical metrics | samples |\n|---|---|---|---|---|")
    for target in TARGETS:
        if not arguments.only or target.name in arguments.only:
            print(_row(target, sources.get(target.name)), flush=True)


def _row(target: Target, source: str | None) -> str:
    folder, trouble = (Path(source), "") if source else installed(target)
    if trouble or not target.program or not (source or target.packages):
        return f"| {target.name} | {trouble or target.otherwise} | | | |"
    with tempfile.TemporaryDirectory() as home:
        run, told = _drive(target, folder, Path(home))
        if not (run / "manifest.json").exists():
            return f"| {target.name} | {target.otherwise}: {told} | | | |"
        recorded = open_run(run)
        known = [name for name in recorded.metrics if find(name) is not None and recorded.logged(name).any()]
        held_to = target.held_to + (" (a checkout)" if source else "")
        return f"| {target.name} | {held_to} | {len(recorded.steps)} | {len(known)} | {recorded.samples().rows} |"


def _drive(target: Target, folder: Path, home: Path) -> tuple[Path, str]:
    """Where the program recorded, and its last word on stderr."""
    run = home / "run"
    path = os.pathsep.join(map(str, _paths(folder)))
    if target.program == "verl":
        words = [sys.executable, "-m", "bench.frameworks.verl_fit"]
    elif target.program == "ray":
        words = [sys.executable, "-m", "bench.frameworks.ray_worker", str(home)]
    else:
        program = [sys.executable, "-m", "bench.frameworks.programs", target.program, str(home / "log")]
        words = [sys.executable, "-m", "rlprobe", "run", "--run", str(run), "--", *program]
    variables = {
        **os.environ,
        "PYTHONPATH": path,
        "RLPROBE_RUN": str(run),
        "WANDB_MODE": "offline",
        "HF_HUB_OFFLINE": "1",
    }
    try:
        done = subprocess.run(words, env=variables, capture_output=True, text=True, check=False, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return run, f"took longer than {SECONDS} s"
    lines = [line for line in done.stderr.splitlines() if line.strip() and not line.startswith("rlprobe: nothing")]
    return run, (lines or [""])[-1][:160]


def _paths(folder: Path) -> list[Path]:
    """Where a checkout or a folder of installed packages has its packages."""
    return [folder, *(inner for name in ("src", "packages/prime-rl-configs/src") if (inner := folder / name).is_dir())]


if __name__ == "__main__":
    main()
