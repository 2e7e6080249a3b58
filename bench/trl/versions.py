"""Train every kind of trainer in several versions of TRL, each in its own environment, and tell what is recorded.

    python -m bench.trl.versions [VERSION ...] [--cache DIR] [--kinds grpo,ppo]

An environment takes some minutes and 2 GB the first time; it stays in the cache. Each kind trains three steps on the
tiny model of the tests, once without a recorder and once with one. A cell says: canonical metrics and sample rows
recorded, `same` where logs and weights came out bit for bit alike, and how many logged numbers are missing or other.
"""

import argparse
import contextlib
import importlib.metadata
import json
import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator, Mapping
from pathlib import Path

VERSIONS = ("1.0.0", "1.7.1", "1.12.0", "1.16.0")
PINNED = ("torch==2.13.0", "transformers==5.24.0", "peft==0.21.2", "requests", "numpy", "pyarrow", "msgspec", "rich")
KINDS = ("grpo", "rloo", "gmpo", "ppo", "dpo", "kto", "online_dpo", "xpo", "nash_md", "orpo", "sft", "reward")
ROOT = Path(__file__).resolve().parents[2]
_QUIET = {"HF_HUB_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "CI": "1", "OMP_NUM_THREADS": "1"}


def python_of(version: str, cache: Path) -> Path:
    """The interpreter of a version's environment; made where it is not there, this one where it has that version."""
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        if importlib.metadata.version("trl") == version:
            return Path(sys.executable)
    home = cache / version
    python = home / "bin" / "python"
    if not (home / "ready").exists():
        venv.create(home, with_pip=True, clear=True)
        packages = [f"trl=={version}", *PINNED]
        subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True)
        (home / "ready").touch()
    return python


def lines(python: Path, kinds: tuple[str, ...]) -> Iterator[Mapping[str, object]]:
    """What each kind's training told."""
    variables = {**os.environ, **_QUIET, "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "src")))}
    command = [str(python), "-W", "ignore", "-m", "bench.trl.record_kinds", *kinds]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=variables, cwd=ROOT
    ) as run:
        assert run.stdout is not None
        for line in run.stdout:
            if line.startswith('{"kind"'):
                yield json.loads(line)


def cell(line: Mapping[str, object]) -> str:
    """One kind in one version."""
    if line.get("absent"):
        return ""
    if "error" in line:
        return f"failed: {line['error']}"[:60]
    same = "same" if line["identical"] else "NOT THE SAME"
    wrong = len(line["differences"]) + len(line["hooks"])  # type: ignore[arg-type]  # both are lists
    return f"{line['metrics']} / {line['samples']}, {same}" + (f", {wrong} WRONG" if wrong else "")


def main() -> int:
    """Print the table; exit 1 where anything is not as it should be."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("versions", nargs="*", default=VERSIONS)
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "rlprobe-trl-versions")
    parser.add_argument("--kinds", default=",".join(KINDS))
    arguments = parser.parse_args()
    kinds = tuple(arguments.kinds.split(","))
    table: dict[str, dict[str, str]] = {}
    wrong: list[str] = []
    for version in arguments.versions:
        found = {str(line["kind"]): line for line in lines(python_of(version, arguments.cache), kinds)}
        table[version] = {kind: cell(found[kind]) if kind in found else "died" for kind in kinds}
        for line in found.values():
            wrong += [
                f"{version} {line['kind']}: {each}" for each in (*line.get("differences", ()), *line.get("hooks", ()))
            ]  # type: ignore[misc]  # both are lists
        print(f"{version}: {len(found)} kinds", file=sys.stderr, flush=True)
    print("| kind | " + " | ".join(f"trl {version}" for version in table) + " |")
    print("|---|" + "---|" * len(table))
    for kind in kinds:
        print(f"| {kind} | " + " | ".join(row[kind] for row in table.values()) + " |")
    print("\n".join(wrong))
    return int(
        bool(wrong)
        or any("NOT" in each or "failed" in each or "died" in each for row in table.values() for each in row.values())
    )


if __name__ == "__main__":
    sys.exit(main())
