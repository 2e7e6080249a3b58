"""TRL in two processes on the CPU (gloo): what is recorded, whether training is the same, whether a halt stops both.

    python -m bench.trl.processes [KIND ...]

Needs the trl extra. torchrun starts the processes: `accelerate launch` does the same, but on a CPU only with MPI. A
kind is a trainer's, with +fsdp or +zero1 to +zero3 behind it where the processes share weights or gradients
(tests/integrations/cpu_sharding.py); those where DeepSpeed is importable. PPO is trained in an environment with
trl 1.12, which `python -m bench.trl.versions 1.12.0` makes.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from tests.integrations.tiny_model import taught

from bench.trl.versions import python_of
from rlprobe import open_run

KINDS = ("grpo", "rloo", "dpo", "online_dpo", "ppo", "grpo+fsdp", "grpo+zero1", "grpo+zero2", "grpo+zero3")
STEPS, LONG = 3, 200  # steps of a run; of one that is halted
PATIENCE = 300  # seconds after which processes that wait for each other are ended
_HOME = Path(tempfile.gettempdir()) / "rlprobe-bench"
_VERSIONS = Path(tempfile.gettempdir()) / "rlprobe-trl-versions"
_ROOT = Path(__file__).resolve().parents[2]
_QUIET = {"HF_HUB_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "CI": "1", "OMP_NUM_THREADS": "1"}


def launched(home: Path, run: str, folder: Path, kind: str, steps: int, *options: str) -> list[dict[str, object]]:
    """Train in two processes; what each told, by rank."""
    words = [str(home), run, str(folder / "out"), kind, str(steps), *options]
    launcher = ["-m", "torch.distributed.run", "--nproc_per_node", "2", "--master_port", "0", "--standalone"]
    python = python_of("1.12.0", _VERSIONS) if kind == "ppo" else sys.executable
    command = [str(python), *launcher, "-m", "tests.integrations.two_processes", *words]
    paths = [str(_ROOT), str(_ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    variables = {**os.environ, **_QUIET, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=variables, check=False, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        raise SystemExit(f"bench.trl.processes: {kind} was not over after {PATIENCE} s.") from None
    found = sorted((folder / "out").glob("told-*.json"))
    if len(found) != 2:
        raise SystemExit(
            f"bench.trl.processes: expected a word of both ranks, got {len(found)}.\n{done.stderr[-3000:]}"
        )
    return [json.loads(path.read_bytes()) for path in found]


def told(kind: str, home: Path, folder: Path) -> Mapping[str, object]:
    """One kind of trainer: without a recorder, with one on every rank, with one on rank 0 alone, and halted."""
    run_dir = folder / "run"
    without = launched(home, "-", folder / "bare", kind, STEPS)
    watched = launched(home, str(run_dir), folder / "watched", kind, STEPS)
    alone = launched(home, str(folder / "alone-run"), folder / "alone", kind, STEPS, "alone")
    run = open_run(run_dir)
    samples = run.samples()
    ranks = np.asarray(samples.columns.get("rank", np.empty(0)))
    places = zip(samples.columns["step"].tolist(), samples.columns["sample"].tolist(), strict=True)  # type: ignore[attr-defined]  # arrays
    halted_dir = folder / "halted"
    halted_dir.mkdir()
    halted = launched(home, str(halted_dir), folder / "halted-out", kind, LONG, "halt")
    logged = [row["grad_norm"] for row in without[0]["logs"] if "grad_norm" in row]  # type: ignore[attr-defined]  # a list
    norms = run.column("grad_norm").tolist() if "grad_norm" in run.metrics else []
    return {
        "kind": kind,
        "identical": without == watched == alone,
        "rows": run.rows,
        "samples by rank": [int((ranks == rank).sum()) for rank in (0, 1)],
        "distinct samples": len({*places}),
        "grad_norm as logged": bool(np.allclose(norms, logged, rtol=1e-5)) if logged else None,
        "weights moved": bool((run.column("weight_update_ratio")[1:] > 0).all()),
        "times compared": bool(run.logged("rank_step_seconds_max").all()),
        "notes": list(run.reading.notes),
        "failed hooks": sum(
            event.kind == "bad_hook" for each in (run, open_run(folder / "alone-run")) for event in each.events
        ),
        "halted after": [line["step"] for line in halted],
    }


def main(kinds: list[str]) -> None:
    """Print one line a kind."""
    home = taught(_HOME)
    for kind in kinds or KINDS:
        if "zero" in kind and find_spec("deepspeed") is None:
            print(json.dumps({"kind": kind, "absent": "deepspeed is not installed"}))
            continue
        with tempfile.TemporaryDirectory() as folder:
            print(json.dumps(told(kind, home, Path(folder))), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
