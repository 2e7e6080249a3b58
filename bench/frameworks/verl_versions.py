"""verl's versions, each with its own code: what its legacy training loop and its Tracking leave in a recording.

    python -m bench.frameworks.verl_versions [VERSION ...]

Installs each version without its dependencies beside those of `python -m bench.frameworks --only verl`, and an older
transformers for the versions that need it. Prints one row a version: steps, canonical metrics, samples, the parts of
a reward, and the first finding with the example's fault on. verl 0.5 takes no other logger: there `rlprobe run` taps
its Tracking, which a program drives for three steps.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.frameworks.targets import HOME, TARGETS, installed
from rlprobe import diagnose, open_run
from rlprobe.recording.metrics import find
from rlprobe.recording.run import Run

VERSIONS = ("0.5.0", "0.6.1", "0.7.1", "0.8.0", "0.9.1")
OLDER = ("transformers==4.56.2", "huggingface-hub==0.35.3", "tokenizers==0.22.1", "datasets==4.1.1")
ROOT = Path(__file__).resolve().parents[2]
SECONDS = 300  # a loop that takes longer is ended


def folders_of(version: str) -> list[Path]:
    """Where Python finds the version and what it needs; installed now if it is not there."""
    wanted = [("verl-" + version, (f"verl=={version}",))]
    if version < "0.7":
        wanted.insert(0, ("verl-older", OLDER))
    found = []
    for name, packages in wanted:
        folder = HOME / name
        if not folder.is_dir():
            words = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder), *packages]
            subprocess.run(words, check=True)
        found.append(folder)
    return [*found, installed(TARGETS[0])[0]]


def recorded(version: str, run_dir: Path, *options: str) -> Run:
    """The recording of one run of the version's legacy loop."""
    variables = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(map(str, folders_of(version))),
        "RLPROBE_RUN": str(run_dir),
        "VERL_USE_EXTERNAL_MODULES": "rlprobe.integrations.verl",
        "VERL_USE_EXTERNAL_PLUGINS": "none",
        "HF_HUB_OFFLINE": "1",
    }
    words = [sys.executable, "-m", "bench.frameworks.verl_legacy", *options]
    done = subprocess.run(words, env=variables, capture_output=True, text=True, check=False, timeout=SECONDS)
    if done.returncode:
        raise SystemExit(f"bench.frameworks.verl_versions: verl {version} failed.\n{done.stderr[-2000:]}")
    return open_run(run_dir)


def tapped(version: str, run_dir: Path) -> Run:
    """What `rlprobe run` records of the version's Tracking with its console alone."""
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, folders_of(version)))}
    program = ROOT / "tests" / "integrations" / "verl_tracking_program.py"
    words = [
        sys.executable,
        "-m",
        "rlprobe",
        "run",
        "--run",
        str(run_dir),
        "--",
        sys.executable,
        str(program),
        "console",
    ]
    subprocess.run(words, env=variables, capture_output=True, check=True, timeout=SECONDS)
    return open_run(run_dir)


def known(run: Run) -> int:
    """The canonical metrics of a recording."""
    return sum(find(name) is not None and bool(run.logged(name).any()) for name in run.metrics)


def row(version: str, home: Path) -> str:
    """One row of the table."""
    if version < "0.6":
        run = tapped(version, home / "tapped")
        return f"| {version} | {run.rows} | {known(run)} | {run.samples().rows} | | {run.manifest.state} | | | |"
    run = recorded(version, home / "healthy")
    faulty = diagnose(recorded(version, home / "faulty", "--fault"))
    parts = sorted(name.partition("/")[2] for name in run.samples().columns if name.startswith("reward/"))
    failed = sum(event.kind == "bad_hook" for event in run.events)
    cells = (version, run.rows, known(run), run.samples().rows, ", ".join(parts), run.manifest.state, failed)
    verdicts = (diagnose(run).verdict, faulty.findings[0].id if faulty.findings else faulty.verdict)
    return "| " + " | ".join(map(str, (*cells, *verdicts))) + " |"


def main(versions: list[str]) -> None:
    """Print the table."""
    print(
        "| verl | steps | canonical metrics | samples | parts of the reward | state | failed hooks | healthy | fault |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for version in versions or VERSIONS:
        with tempfile.TemporaryDirectory() as home:
            print(row(version, Path(home)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
