"""What recording costs beside what people use instead: `python -m bench.recorder.compare [--rounds 3] [--only NAMES]`.

rlprobe 0.1.0, W&B (offline), trackio, tensorboardX and MLflow come from the package index, each in an environment of
its own. Every recorder runs the same loop in a process of its own, one after the other, round after round, so that a
change of the machine's load meets all of them; the table has medians over the rounds, and ratios to this version.
CPU is user and system time of the process and of all that it started, from the first call of the loop to the end of
everything, divided by the calls; what the recorder spends before and with no call is measured and subtracted.
"""

import argparse
import contextlib
import ctypes
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from bench.recorder.environments import apart, installed

PEERS: Mapping[str, str] = {
    "rlprobe": "",
    "rlprobe_0_1_0": "rlprobe==0.1.0",
    "wandb": "wandb==0.31.0",
    "trackio": "trackio==0.43.0 pandas",  # its tables are made of data frames
    "tensorboardX": "tensorboardX==2.6.5",
    "mlflow": "mlflow==3.17.2",
}
CASES: Mapping[str, tuple[str, int]] = {
    "steps": ("log 40 scalars", 20_000),
    "samples": ("log 64 samples, all kept", 150),
}
_SECONDS = 8.0  # after which a loop ends, however many calls it has made
_PATIENCE = 180.0  # seconds for a process to end, and for what it leaves behind
_SUBREAPER = 36  # prctl: what a child leaves behind becomes ours to wait for
_PROGRAM = Path(__file__).with_name("peer.py")


def main() -> None:
    """Print a table a case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="these recorders beside ours, comma-separated")
    parser.add_argument("--json", type=Path, help="write every single run here, one JSON object a line")
    arguments = parser.parse_args()
    only = frozenset(filter(None, arguments.only.split(",")))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    pythons, missing = _interpreters([name for name in PEERS if not only or name in only or name == "rlprobe"])
    print(f"{datetime.now(UTC):%d %B %Y}, load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    for case, (title, calls) in CASES.items():
        runs: dict[str, list[Mapping[str, float]]] = {name: [] for name in pythons}
        for _ in range(arguments.rounds):
            for name, python in pythons.items():
                found = _measured(python, name, case, calls)
                runs[name].extend([found] if found else [])
                if arguments.json and found:
                    with arguments.json.open("a") as out:
                        out.write(json.dumps({"recorder": name, "case": case, **found}) + "\n")
        print(f"\n{title}, {arguments.rounds} rounds\n")
        print(_table(runs, missing))


def _interpreters(names: Sequence[str]) -> tuple[dict[str, Path], dict[str, str]]:
    """Recorder -> the interpreter that has it, and -> why there is none."""
    pythons, missing = {}, {}
    for name in names:
        programs, problem = installed(PEERS[name]) if PEERS[name] else (Path(sys.executable).parent, "")
        if problem:
            missing[name] = problem
        else:
            pythons[name] = programs / "python"
    return pythons, missing


def _measured(python: Path, name: str, case: str, calls: int) -> Mapping[str, float] | None:
    """One loop: seconds of a call (median, p99), of closing, and of CPU a call; None where the recorder failed."""
    idle = _run(python, name, case, 0)
    found = _run(python, name, case, calls)
    if idle is None or found is None:
        return None
    spent = found["total"] - idle["total"]
    return {**found, "cpu_a_call": max(0.0, spent) / found["calls"]}


def _run(python: Path, name: str, case: str, calls: int) -> dict[str, float] | None:
    before = _spent()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        command = [python, _PROGRAM, name, case, str(calls), str(_SECONDS), str(Path(folder) / "run")]
        (Path(folder) / "run").mkdir()
        try:
            done = subprocess.run(
                command, cwd=folder, env={**apart(), "HOME": folder}, capture_output=True, text=True,
                timeout=_PATIENCE, check=True,
            )  # fmt: skip
            found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
        except (OSError, subprocess.SubprocessError, ValueError, IndexError) as error:
            told = getattr(error, "stderr", "") or str(error)
            print(f"{name}, {case}: failed: {str(told).strip().splitlines()[-1][:200]}", file=sys.stderr)
            return None
        _wait_for_orphans()
        found["bytes"] = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
    return {**found, "total": _spent() - before}


def _spent() -> float:
    """Seconds of CPU of all processes that were waited for."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _wait_for_orphans() -> None:
    """Wait for what a recorder left running: W&B's core writes on after its caller has ended."""
    until = time.monotonic() + _PATIENCE
    with contextlib.suppress(ChildProcessError):
        while time.monotonic() < until:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(0.05)


def _table(runs: Mapping[str, Sequence[Mapping[str, float]]], missing: Mapping[str, str]) -> str:
    lines = [
        "| recorder | calls | call, median us | p99 us | close s | CPU us a call | call / ours | CPU / ours |",
        "|---|---|---|---|---|---|---|---|",
    ]
    ours = {field: _middle(runs["rlprobe"], field) for field in ("median", "cpu_a_call")}
    for name in PEERS:
        if name in missing:
            lines.append(f"| {name} | left out: {missing[name]} |")
        elif runs.get(name):
            middle = {field: _middle(runs[name], field) for field in runs[name][0]}
            lines.append(
                f"| {_shown(name)} | {middle['calls']:.0f} | {1e6 * middle['median']:.1f} | {1e6 * middle['late']:.0f} "
                f"| {middle['closed']:.2f} | {1e6 * middle['cpu_a_call']:.0f} "
                f"| {middle['median'] / ours['median']:.1f} | {middle['cpu_a_call'] / ours['cpu_a_call']:.1f} |"
            )
        elif name in runs:
            lines.append(f"| {_shown(name)} | failed |")
    return "\n".join(lines)


def _shown(name: str) -> str:
    return PEERS[name].split(" ")[0].replace("==", " ") or "this version"


def _middle(runs: Sequence[Mapping[str, float]], field: str) -> float:
    return statistics.median(run[field] for run in runs)


if __name__ == "__main__":
    main()
